import type { Cloud } from "#clouds/cloud.ts";
import type { Turn } from "#clouds/http/api.ts";
import { type Budget, HELD_BACK } from "#clouds/http/budget.ts";
import { checked } from "#clouds/http/checked.ts";
import { createMeter } from "#clouds/http/meter.ts";
import { abortedBefore, answerOf, type Fault, type Outcome } from "#clouds/http/outcome.ts";
import { findControls } from "#clouds/listed/control.ts";
import type { Directory } from "#clouds/listed/directory.ts";
import type { Listing } from "#clouds/listed/listing.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import { isSought, type ProviderID, queryOf, subjectOf } from "#clouds/listed/query.ts";
import { type Resolution, resolve, unresolved } from "#clouds/listed/resolve.ts";
import { type Claim, settleGuesses } from "#clouds/listed/settle-guesses.ts";
import type { Sources } from "#clouds/listed/sources.ts";
import { ok } from "#clouds/outcome.ts";
import type { Instance, InstanceAnswer, PositiveControl } from "#core/instance.ts";
import { messageOf } from "#core/message-of.ts";
import type { Node } from "#core/node/node.ts";
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
  readonly sources: Sources<M>;
  /** A few machines, with one request of each API that it takes to know whose they are. */
  readonly listFew: (turn: Turn) => Promise<Outcome<readonly M[]>>;
  readonly isAlive: (machine: M) => boolean;
  readonly instanceOf: (machine: M) => Outcome<Instance>;
  /** A machine as the proof that others of the cluster were looked for in the right place. */
  readonly locate: (machine: M) => PositiveControl;
  /**
   * Lists the ids of machines that the cloud's own record says were deleted lately, with one request. Asked once for a batch of which a
   * machine is missed. A fault says nothing: such machines then count as missed without a reason.
   */
  readonly listDeleted?: (turn: Turn) => Promise<Outcome<ReadonlySet<string>>>;
  /** Looks whether there is what the configuration names; never rejects. */
  readonly check: (turn: Turn) => Promise<Outcome<unknown>>;
  close(): void;
}

/** A cloud whose machines are found in lists, and shown to be gone by being read. */
export function createListedCloud<M extends Machine>(parts: ListedCloudParts<M>): Cloud {
  const { provider, title, machine, budget, sources, prepare, listFew, isAlive, locate } = parts;
  const { notOurs } = sources;
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
            ? settleGuesses(await resolve(queries, sources, turn), claimOf, machine)
            : unresolved<M, Node>(queries, trouble);
        const controls =
          isControlWanted && trouble === undefined
            ? await findControls(resolutions, {
                queries,
                notOurs,
                isAlive,
                locate,
                // Mostly a few are enough; in an account of many clusters they may all be somebody else's.
                lists: [listFew, ...sources.directories.map(allOf)].map((list) => () => list(turn)),
              })
            : undefined;
        const isMissed = controls !== undefined && controls.size > 0;
        const deleted = isMissed ? await parts.listDeleted?.(turn) : undefined;
        const answers = nodes.map((node): InstanceAnswer => {
          const query = queries.get(node);
          const subject = subjectOf(node, query, machine);
          const answer = answerFor(subject, resolutions.get(node), controls?.get(node), parts);
          const isDeleted = query?.kind === "id" && deleted?.kind === "ok" && deleted.value.has(query.id);
          return answer.kind === "not-found" && isDeleted ? { ...answer, deleted: true } : answer;
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

/** What a list shows, although it may lack something. */
function allOf<M extends Machine>(directory: Directory<Listing<M>>) {
  return async (turn: Turn): Promise<Outcome<readonly M[]>> => {
    const listed = await directory.list(turn);
    return listed.kind === "ok" ? ok([...listed.value.byId.values()]) : listed;
  };
}

function claimOf<M extends Machine>(resolution: Resolution<M>): Claim | undefined {
  return resolution.kind === "machine" ? { id: resolution.machine.id, guess: resolution.guess } : undefined;
}

function answerFor<M extends Machine>(
  subject: string,
  resolution: Resolution<M> | undefined,
  control: PositiveControl | undefined,
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
