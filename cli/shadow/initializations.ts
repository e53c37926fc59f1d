import type { Judge } from "#cli/shadow/judge.ts";
import type { Tally } from "#cli/shadow/tally.ts";
import type { Controller } from "#core/controller.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { compareInitialized, isPassing } from "#core/shadow/compare.ts";
import { identityIn } from "#core/shadow/lifecycle.ts";
import { beforeInitialization, type SeenNode } from "#core/shadow/seen-node.ts";

/** Nodes that are initialized by another controller, followed until they can be compared. */
export interface Initializations {
  /** A node as it is now. */
  seen(seen: SeenNode): void;
  gone(uid: string): void;
  /** Compares what is due, a batch at most; answers with how many are left that will be. */
  compareDue(): Promise<number>;
  /** Says what else there is to say when nothing more is awaited. */
  end(): void;
}

export interface InitializationsOptions {
  readonly controller: Controller;
  readonly judge: Judge;
  readonly tally: Tally;
  readonly labelPrefixes: readonly string[];
  /** The instance that a node would say it was initialized from. */
  readonly onIdentity?: (uid: string, identity: string | undefined) => void;
  /** Milliseconds for which a node must not change before it is compared; six times as long it waits at most. */
  readonly settleMs: number;
  /** Milliseconds, only growing. */
  readonly now: () => number;
}

/** Nodes for which the cloud is asked at once. */
const BATCH = 100;
/** How often the cloud is asked before a node is given up. */
const MAX_TRIES = 5;
/** Whoever waits that long for a controller is not just about to be initialized. */
const STUCK_MS = 60_000;

interface Entry {
  /** The last that was seen of it with the taint; undefined where it had none from the start on. */
  readonly before: Node | undefined;
  readonly after: SeenNode | undefined;
  readonly firstMs: number;
  /** When it was first seen without the taint, and last seen to change. */
  readonly bareMs: number;
  readonly changedMs: number;
  readonly tries: number;
  /** That it waits for nobody has been said. */
  readonly isTold: boolean;
}

/** Follows nothing at first, and remembers no more nodes than it is shown at a time. */
export function createInitializations(options: InitializationsOptions): Initializations {
  const { controller, judge, tally, labelPrefixes, settleMs, now } = options;
  const entries = new Map<string, Entry>();
  /** Nodes that have been compared, or were not to be; by uid, so that heartbeats do not bring them back. */
  const done = new Set<string>();

  function isDue({ after, bareMs, changedMs }: Entry): boolean {
    return after !== undefined && (now() - changedMs >= settleMs || now() - bareMs >= 6 * settleMs);
  }

  function isStuck({ after, firstMs, isTold }: Entry): boolean {
    return after === undefined && !isTold && now() - firstMs >= STUCK_MS;
  }

  function finish(uid: string): void {
    entries.delete(uid);
    done.add(uid);
  }

  async function compareBatch(due: readonly (readonly [string, Entry])[]): Promise<void> {
    const befores = due.map(([, { before, after }]) => before ?? beforeInitialization(after as SeenNode));
    const decisions = await judge.decide(controller, befores, "watch");
    for (const [index, [uid, entry]] of due.entries()) {
      const [before, decision] = [befores[index], decisions[index]];
      if (before === undefined || decision === undefined || entry.after === undefined) continue;
      const after = entry.after.node;
      const compared = compareInitialized(before, after, decision, labelPrefixes);
      if (compared.kind === "compared") {
        tally.compared(compared.differences);
        options.onIdentity?.(uid, identityIn(before, decision));
        finish(uid);
      } else if (entry.tries + 1 < MAX_TRIES) {
        entries.set(uid, { ...entry, tries: entry.tries + 1, changedMs: now(), bareMs: now() });
      } else {
        tally.uncompared("cloud");
        finish(uid);
      }
    }
  }

  async function judgeStuck(stuck: readonly (readonly [string, Entry])[]): Promise<void> {
    const nodes = stuck.flatMap(([, { before }]) => before ?? []);
    const decisions = await judge.decide(controller, nodes, "watch");
    for (const [index, [uid, entry]] of stuck.entries()) {
      const [node, decision] = [nodes[index], decisions[index]];
      if (node === undefined || decision === undefined || isPassing(decision)) continue;
      entries.set(uid, { ...entry, isTold: true });
      if (decision.kind !== "change") continue;
      const { name } = node.metadata;
      const theirs = `tainted for ${Math.round((now() - entry.firstMs) / 1_000)} s and longer`;
      tally.compared([{ code: "InitializedByUsAlone", node: name, ours: decision.because.message, theirs }]);
    }
  }

  return {
    seen(seen) {
      const { node } = seen;
      const { uid } = node.metadata;
      if (done.has(uid)) return;
      const known = entries.get(uid);
      const fresh = { before: undefined, after: undefined, firstMs: now(), tries: 0, isTold: false };
      const entry = known ?? { ...fresh, bareMs: now(), changedMs: now() };
      if (isUninitialized(node)) {
        entries.set(uid, { ...entry, before: node, after: undefined });
        return;
      }
      if (seen.initializedBy === "ours") {
        tally.uncompared("ours");
        return finish(uid);
      }
      const bareMs = entry.after === undefined ? now() : entry.bareMs;
      entries.set(uid, { ...entry, after: seen, bareMs, changedMs: now() });
    },
    gone(uid) {
      if (entries.delete(uid)) tally.uncompared("gone");
      done.delete(uid);
    },
    async compareDue() {
      const due = [...entries].filter(([, entry]) => isDue(entry)).slice(0, BATCH);
      if (due.length > 0) await compareBatch(due);
      const stuck = [...entries].filter(([, entry]) => isStuck(entry)).slice(0, BATCH);
      if (stuck.length > 0) await judgeStuck(stuck);
      return [...entries.values()].filter(({ after }) => after !== undefined).length;
    },
    end() {
      for (const { after, tries } of entries.values())
        if (after !== undefined) tally.uncompared(tries > 0 ? "cloud" : "unsettled");
    },
  };
}
