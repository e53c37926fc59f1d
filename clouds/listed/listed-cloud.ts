import type { Cloud } from "#clouds/cloud.ts";
import type { Turn } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { checked } from "#clouds/http/checked.ts";
import { createMeter } from "#clouds/http/meter.ts";
import { answerOf, type Fault, type Outcome } from "#clouds/http/outcome.ts";
import { findControl } from "#clouds/listed/control.ts";
import { createDirectory } from "#clouds/listed/directory.ts";
import type { Listing } from "#clouds/listed/listing.ts";
import type { NotOurs } from "#clouds/listed/look-up.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import { isSought, type ProviderID, queryOf, subjectOf } from "#clouds/listed/query.ts";
import { createReads, type ReadMachine } from "#clouds/listed/reads.ts";
import { type Resolution, resolve, unresolved } from "#clouds/listed/resolve.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import { messageOf } from "#core/message-of.ts";
import { isUninitialized } from "#core/node/taints.ts";

/** What a cloud that lists its machines differs by from the others. */
export interface ListedCloudParts<M extends Machine> {
  /** The provider's name, and how sentences call it. */
  readonly provider: string;
  readonly title: string;
  /** The cloud's own word for a machine. */
  readonly machine: string;
  readonly budget: Budget;
  readonly parseProviderID: (text: string) => ProviderID;
  /**
   * Gets what has to be known before anything can be asked, such as a token; what keeps it is the answer for all. Before it has
   * succeeded once nothing else here is called, and it never rejects.
   */
  readonly prepare?: (turn: Turn) => Promise<Fault | undefined>;
  /** All pages; where one fails, what the others show and the fault. Never rejects. */
  readonly list: (turn: Turn) => Promise<Listing<M>>;
  /** A few machines, with one request of each API that it takes to know whose they are. */
  readonly listFew: (turn: Turn) => Promise<Outcome<readonly M[]>>;
  readonly read: ReadMachine<M>;
  readonly notOurs: NotOurs<M>;
  readonly isAlive: (machine: M) => boolean;
  readonly instanceOf: (machine: M) => Outcome<Instance>;
  /** Looks whether there is what the configuration names; never rejects. */
  readonly check: (turn: Turn) => Promise<Outcome<unknown>>;
  /** For how long a list is believed of what it shows. */
  readonly maxListAgeMs: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  close(): void;
}

/** A cloud whose machines are found in lists, and shown to be gone by being read. Lists live as long as what is returned. */
export function createListedCloud<M extends Machine>(parts: ListedCloudParts<M>): Cloud {
  const { provider, title, budget, prepare, list, listFew, read, notOurs, isAlive, maxListAgeMs, now } =
    parts;
  const directory = createDirectory(list, maxListAgeMs, now);
  const reads = createReads(read, maxListAgeMs, now);
  return {
    provider,
    async instances(nodes, { signal, share, control: isControlWanted, onRequest }) {
      const meter = createMeter(onRequest);
      const allAnswer = (answer: InstanceAnswer) => ({
        answers: nodes.map(() => answer),
        usage: meter.usage(),
      });
      if (nodes.length === 0 || signal.aborted) return allAnswer(abortedBefore(title));
      if (budget.isLow() && !nodes.some(isUninitialized)) return allAnswer(HELD_BACK);
      const leave = budget.enter(share);
      try {
        const turn = { signal, meter };
        const queries = new Map(nodes.map((node) => [node, queryOf(node, parts.parseProviderID)]));
        const trouble = [...queries.values()].some(isSought) ? await prepare?.(turn) : undefined;
        const resolutions =
          trouble === undefined
            ? await resolve(queries, { directory, reads, notOurs, now }, turn)
            : unresolved<M>(queries, trouble);
        const control =
          isControlWanted && trouble === undefined
            ? await findControl(resolutions, { queries, notOurs, isAlive, list: () => listFew(turn) })
            : undefined;
        const answers = nodes.map((node) => {
          const subject = subjectOf(node, queries.get(node), parts.machine);
          return answerFor(subject, resolutions.get(node), control, parts);
        });
        return { answers, usage: meter.usage() };
      } catch (error) {
        // Nothing is known to come here; but the contract is that nobody's batch rejects.
        return allAnswer({ kind: "error", code: "Unavailable", message: `${title}: ${messageOf(error)}` });
      } finally {
        leave();
      }
    },
    checkConfiguration: async (signal) => checked(await parts.check({ signal, meter: createMeter() })),
    async close() {
      parts.close();
    },
  };
}

function answerFor<M extends Machine>(
  subject: string,
  resolution: Resolution<M> | undefined,
  control: string | undefined,
  { title, machine, instanceOf }: ListedCloudParts<M>,
): InstanceAnswer {
  if (resolution === undefined)
    return { kind: "error", code: "Unavailable", message: `${subject}: no answer` };
  if (resolution.kind === "fault") return answerOf(resolution.fault, subject);
  if (resolution.kind === "absent") {
    const message =
      resolution.by === "id"
        ? `${title} has no such ${machine}`
        : `${title} lists no ${machine} of that name`;
    const proof = control === undefined ? {} : { control };
    return { kind: "not-found", message: `${subject}: ${message}`, ...proof };
  }
  const instance = instanceOf(resolution.machine);
  return instance.kind === "ok"
    ? { kind: "found", instance: instance.value }
    : answerOf(instance.fault, subject);
}

function abortedBefore(title: string): InstanceAnswer {
  return { kind: "error", code: "Aborted", message: `aborted before ${title} was asked` };
}

const HELD_BACK: InstanceAnswer = {
  kind: "error",
  code: "Throttled",
  message: "little is left of the account's hourly quota, and is kept for nodes that are to be initialized",
};
