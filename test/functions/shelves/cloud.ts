import type { Capability, Cloud } from "#clouds/cloud.ts";
import type { ActionAnswer } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";

/** A shelf of the cloud: who made it is known by its name alone. */
export interface Shelf {
  readonly number: number;
  readonly books: readonly string[];
}

/** A cloud that rents shelves, and what happened to it. */
export interface ShelfCloud {
  readonly shelves: Map<string, Shelf>;
  /** Actions done, as `action target`. */
  readonly done: string[];
  /** Observations made. */
  observations: number;
  /** Called before every request; rejects where the process that asks has ended. */
  before: () => Promise<void>;
  readonly cloud: Cloud;
}

const USAGE = { throttled: 0, waitedMs: 0 };

/** Creates a cloud whose one capability is `shelves`: `rent` makes a shelf once; `fill` needs it to exist. */
export function createShelfCloud(): ShelfCloud {
  const capability: Capability = {
    async observe(questions) {
      await world.before();
      world.observations += 1;
      const answers = questions.map((name) => {
        const state = world.shelves.get(String(name)) ?? null;
        return { kind: "observed", state } as const;
      });
      return { answers, usage: { ...USAGE, calls: { DescribeShelves: 1 } } };
    },
    async act(action) {
      await world.before();
      const answer = answerTo(action);
      if (answer.kind === "done") world.done.push(`${action.action} ${action.target}`);
      return { answer, usage: { ...USAGE, calls: { [action.action]: 1 } } };
    },
  };
  const world: ShelfCloud = {
    shelves: new Map(),
    done: [],
    observations: 0,
    before: async () => {},
    cloud: {
      provider: "shelves",
      instances: async () => ({ answers: [], usage: { ...USAGE, calls: {} } }),
      capabilities: { shelves: capability },
      close: async () => {},
    },
  };

  function answerTo({ action, target, parameters }: CloudAction): ActionAnswer {
    const shelf = world.shelves.get(target);
    switch (action) {
      case "rent": {
        if (shelf !== undefined) return { kind: "conflict", message: "AlreadyExists" };
        const rented = { number: Number(parameters["number"]), books: [] };
        world.shelves.set(target, rented);
        return { kind: "done", result: rented };
      }
      case "fill": {
        if (shelf === undefined) return { kind: "error", code: "Invalid", message: "no such shelf" };
        const filled = { ...shelf, books: [String(parameters["book"])] };
        world.shelves.set(target, filled);
        return { kind: "done", result: filled };
      }
      default:
        return { kind: "error", code: "Invalid", message: `no action ${action}` };
    }
  }
  return world;
}
