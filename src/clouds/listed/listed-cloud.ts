import type { Cloud } from "#clouds/cloud.ts";
import { type Budget, HELD_BACK } from "#clouds/http/budget.ts";
import { toConfigurationCheck } from "#clouds/http/cloud-options.ts";
import { type CallContext, createMeter } from "#clouds/http/meter.ts";
import { createAbortedAnswer, type Fault, type Outcome, toErrorAnswer } from "#clouds/http/outcome.ts";
import { type Claim, type Listing, settleGuesses } from "#clouds/listed/listing.ts";
import type { CheckOwnership, Directory } from "#clouds/listed/look-up.ts";
import {
  buildQuery,
  formatSubject,
  type Machine,
  needsCloud,
  type ProviderID,
  type Query,
} from "#clouds/listed/query.ts";
import { type Resolution, resolve, resolveWithoutCloud } from "#clouds/listed/resolve.ts";
import type { Sources } from "#clouds/listed/sources.ts";
import { ok } from "#clouds/outcome.ts";
import type { Instance, InstanceAnswer, VisibilityProbe } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { findDifference, readLocation } from "#core/node-lifecycle/location.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** The differences between clouds that list their machines. */
export interface ListedCloudParts<M extends Machine> {
  /** The provider's name, and its title in messages. */
  readonly provider: string;
  readonly title: string;
  /** The cloud's own word for a machine. */
  readonly machine: string;
  readonly budget: Budget;
  readonly parseProviderID: (text: string) => ProviderID;
  /**
   * Prepares what every request needs, such as a token; a fault is the answer for all nodes. It never
   * rejects. Nothing else here is called before its first success.
   */
  readonly prepare?: (callContext: CallContext) => Promise<Fault | undefined>;
  readonly sources: Sources<M>;
  /** Lists a few machines, with one request for each API that is needed to prove their ownership. */
  readonly listFew: (callContext: CallContext) => Promise<Outcome<readonly M[]>>;
  readonly isAlive: (machine: M) => boolean;
  readonly buildInstance: (machine: M) => Outcome<Instance>;
  /**
   * Converts a machine to a visibility probe: proof that others of the cluster were searched in the right
   * place.
   */
  readonly locate: (machine: M) => VisibilityProbe;
  /**
   * Lists the ids of machines that the cloud's own record shows as recently deleted, with one request. Called
   * once for a batch with a missing machine. A fault proves nothing: such machines then count as missing
   * without a reason.
   */
  readonly listDeleted?: (callContext: CallContext) => Promise<Outcome<ReadonlySet<string>>>;
  /** Checks whether the configured resources exist; never rejects. */
  readonly check: (callContext: CallContext) => Promise<Outcome<unknown>>;
  close(): void;
}

/** Creates a cloud that finds machines in lists, and proves their absence by single reads. */
export function createListedCloud<M extends Machine>(parts: ListedCloudParts<M>): Cloud {
  const { provider, title, machine, budget, sources, prepare, listFew, isAlive, locate } = parts;
  const { checkOwnership } = sources;
  return {
    provider,
    async instances(nodes, { signal, share, control: needsProbe, onRequest }) {
      const meter = createMeter(onRequest);
      const allAnswer = (answer: InstanceAnswer) => ({
        answers: nodes.map(() => answer),
        usage: meter.usage(),
      });
      if (nodes.length === 0 || signal.aborted) return allAnswer(createAbortedAnswer(title));
      if (budget.isLow() && !nodes.some(isUninitialized)) return allAnswer(HELD_BACK);
      const leave = budget.enter(share);
      try {
        const callContext = { signal, meter };
        const queries = new Map(nodes.map((node) => [node, buildQuery(node, parts.parseProviderID)]));
        const failure = [...queries.values()].some(needsCloud) ? await prepare?.(callContext) : undefined;
        const resolutions =
          failure === undefined
            ? settleGuesses(await resolve(queries, sources, callContext), buildClaim, machine)
            : resolveWithoutCloud<M, Node>(queries, failure);
        const probes =
          needsProbe && failure === undefined
            ? await findVisibilityProbes(resolutions, {
                queries,
                checkOwnership,
                isAlive,
                locate,
                // A few machines are usually enough; in an account of many clusters all of them may be
                // foreign.
                lists: [listFew, ...sources.directories.map(createLister)].map(
                  (list) => () => list(callContext),
                ),
              })
            : undefined;
        const hasMissing = probes !== undefined && probes.size > 0;
        const deleted = hasMissing ? await parts.listDeleted?.(callContext) : undefined;
        const answers = nodes.map((node): InstanceAnswer => {
          const query = queries.get(node);
          const subject = formatSubject(node, query, machine);
          const answer = buildAnswer(subject, resolutions.get(node), probes?.get(node), parts);
          const isDeleted = query?.kind === "id" && deleted?.kind === "ok" && deleted.value.has(query.id);
          return answer.kind === "not-found" && isDeleted ? { ...answer, deleted: true } : answer;
        });
        return { answers, usage: meter.usage() };
      } catch (error) {
        // No known error reaches this line, but by contract a batch never rejects.
        return allAnswer({
          kind: "error",
          code: "Unavailable",
          message: `${title}: ${getErrorMessage(error)}`,
        });
      } finally {
        leave();
      }
    },
    checkConfiguration: async (signal) =>
      toConfigurationCheck(await parts.check({ signal, meter: createMeter() })),
    async close() {
      parts.close();
    },
  };
}

/** Returns what a list shows, even if it is incomplete. */
function createLister<M extends Machine>(directory: Directory<Listing<M>>) {
  return async (callContext: CallContext): Promise<Outcome<readonly M[]>> => {
    const listed = await directory.list(callContext);
    return listed.kind === "ok" ? ok([...listed.value.byId.values()]) : listed;
  };
}

function buildClaim<M extends Machine>(resolution: Resolution<M>): Claim | undefined {
  return resolution.kind === "machine" ? { id: resolution.machine.id, guess: resolution.guess } : undefined;
}

function buildAnswer<M extends Machine>(
  subject: string,
  resolution: Resolution<M> | undefined,
  control: VisibilityProbe | undefined,
  { title, machine, buildInstance }: ListedCloudParts<M>,
): InstanceAnswer {
  if (resolution === undefined)
    return { kind: "error", code: "Unavailable", message: `${subject}: no answer` };
  if (resolution.kind === "fault") return toErrorAnswer(resolution.fault, subject);
  if (resolution.kind === "absent") {
    const message =
      resolution.by === "id"
        ? `${title} has no such ${machine}`
        : `${title} lists no ${machine} of that name`;
    const proof = control === undefined ? {} : { control };
    return { kind: "not-found", message: `${subject}: ${message}`, ...proof };
  }
  const instance = buildInstance(resolution.machine);
  return instance.kind === "ok"
    ? { kind: "found", instance: instance.value }
    : toErrorAnswer(instance.fault, subject);
}

/** Sources of visibility probes. */
interface ControlSources<M extends Machine> {
  readonly queries: ReadonlyMap<Node, Query>;
  readonly checkOwnership: CheckOwnership<M>;
  /** Whether a machine is not terminated; a terminated one proves nothing. */
  readonly isAlive: (machine: M) => boolean;
  /** Converts a machine to a probe: its id and its place. */
  readonly locate: (machine: M) => VisibilityProbe;
  /**
   * Machines of the account that may serve as probes; a later list is read only if no earlier one has a
   * probe.
   */
  readonly lists: readonly (() => Promise<Outcome<readonly M[]>>)[];
}

/**
 * Finds a visibility probe for each missing node: a visible machine of the cluster, if possible where the
 * node was seen. It uses the batch first, then a list. A node has none if nothing was found or nothing of the
 * batch is missing.
 */
async function findVisibilityProbes<M extends Machine>(
  resolutions: ReadonlyMap<Node, Resolution<M>>,
  { queries, checkOwnership, isAlive, locate, lists }: ControlSources<M>,
): Promise<ReadonlyMap<Node, VisibilityProbe>> {
  const searched = [...resolutions].filter(([node]) => needsCloud(queries.get(node)));
  const missing = searched.flatMap(([node, resolution]) => (isNotVisible(resolution) ? [node] : []));
  const probes = searched.flatMap(([, each]) =>
    each.kind === "machine" && isAlive(each.machine) ? [locate(each.machine)] : [],
  );
  // A list may briefly show a machine that was reported as missing; that proves nothing.
  const requestedIds = new Set([...queries.values()].flatMap((query) => ("id" in query ? [query.id] : [])));
  for (const list of lists) {
    if (!missing.some((node) => needsMore(node, probes))) break;
    const listed = await list();
    if (listed.kind === "fault") break;
    for (const machine of listed.value)
      if (
        !requestedIds.has(machine.id) &&
        isAlive(machine) &&
        checkOwnership(machine, undefined) === undefined
      )
        probes.push(locate(machine));
  }
  return new Map(
    missing.flatMap((node) => {
      // A machine in another place proves nothing; it is reported so that the operator sees the searched
      // place.
      const control = probes.find((each) => compare(node, each) === undefined) ?? probes[0];
      return control === undefined ? [] : [[node, control]];
    }),
  );
}

/**
 * Whether a further list may prove that a node's machine is gone; none can in an account other than the
 * node's.
 */
function needsMore(node: Node, controls: readonly VisibilityProbe[]): boolean {
  const differences = controls.map((control) => compare(node, control));
  if (differences.includes(undefined)) return false;
  return controls.length === 0 || differences.some((difference) => difference?.part === "network");
}

function compare(node: Node, control: VisibilityProbe) {
  return findDifference(readLocation(node), control);
}

/** The duration must not tell a foreign machine from a missing one. */
function isNotVisible<M extends Machine>(resolution: Resolution<M>): boolean {
  return (
    resolution.kind === "absent" ||
    (resolution.kind === "fault" &&
      (resolution.fault.code === "Foreign" || resolution.fault.code === "Denied"))
  );
}
