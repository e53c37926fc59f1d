import { type Cluster, watchContextOf } from "#config/cluster.ts";
import { faultOfHandedBack, type Sent } from "#core/check-handed-back.ts";
import type { StateReference, Watch } from "#core/controller.ts";
import type { Because } from "#core/decision.ts";
import type { Event } from "#core/event.ts";
import type { HandedBack } from "#core/handed-back.ts";
import type { ClusterUsage, ObjectReport, Report } from "#core/report.ts";
import type { Moment, Round } from "#core/rounds.ts";
import { becauseOfStop, type Stop, tightest } from "#core/stop.ts";
import { addClusterUsage, addUsage, NO_CLOUD_USAGE, NO_CLUSTER_USAGE } from "#core/usage.ts";
import type { WrittenAs } from "#core/written-by-relay.ts";
import type { Invocation, Invoker } from "#delivery/invoker.ts";
import { applyShared } from "#kube/apply/apply-shared.ts";
import { countObjects, readAgain, readState, type StateUnavailable } from "#kube/apply/read.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { createSentBatch, type SentBatch } from "#relay/delivery/sent-batch.ts";
import { writeDecisions } from "#relay/delivery/write-decisions.ts";

/** What the rounds of one event go by. */
export interface WritingRounds {
  readonly cluster: Cluster;
  readonly watch: Watch;
  readonly as: WrittenAs;
  readonly invoker: Pick<Invoker, "invoke">;
  readonly clock: Clock;
  /** In the stead of the controller's function. */
  readonly transport: Transport;
  /** Nobody waits for any of it once it fires. */
  readonly unwanted: AbortSignal;
  /** Nothing is sent to the cluster any more once it fires. */
  readonly signal: AbortSignal;
  /** What operators have stopped for a cluster, as it can be read now. */
  readonly stopOf?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
}

/** Of one event at most: a function that asks for more is not ours, or writers do not let each other be. */
const MAX_INVOCATIONS = 8;

/** No function is asked again after so long. */
const ASKING_MS = 25_000;

/** What was read for the batch, and where. */
interface ReadUnder {
  readonly reference: StateReference;
  readonly round: Round;
}

/**
 * Invokes a function and carries out what it hands back, until there is an entry for each object of the event. Where a batch is decided
 * under a state of the cluster's, that is read here, and the function asked again; objects are read again after each swap of it.
 */
export async function writeInRounds(event: Event, rounds: WritingRounds): Promise<Invocation> {
  const { cluster, watch, transport, clock, signal } = rounds;
  const startedMs = clock.now();
  const batch = createSentBatch(cluster, watch, event.objects);
  let under: ReadUnder | undefined;
  let cloud = NO_CLOUD_USAGE;
  let usage = NO_CLUSTER_USAGE;
  let invokedMs = 0;
  const count = (more: Partial<ClusterUsage>): void => {
    usage = addClusterUsage(usage, { ...NO_CLUSTER_USAGE, ...more });
  };

  for (let invocations = 1; ; invocations += 1) {
    const askedMs = clock.now();
    const asked = { ...event, objects: [...batch.snapshots()], ...(under && { round: under.round }) };
    const invocation = await rounds.invoker.invoke(asked, rounds.unwanted);
    invokedMs += clock.now() - askedMs;
    if (invocation.kind === "failed") return invocation;
    const { handedBack, ...report } = invocation.report;
    cloud = addUsage(cloud, report.usage.cloud);
    usage = addClusterUsage(usage, report.usage.cluster);
    const said = batch.placed(report.objects);
    const ended = (objects: readonly ObjectReport[]): Invocation => {
      const totalMs = clock.now() - startedMs;
      const durations = { ...report.durations, clusterMs: totalMs - invokedMs, totalMs };
      const all = [...batch.left(), ...said, ...objects].sort((a, b) => a.index - b.index);
      return {
        kind: "report",
        report: { ...report, objects: all, durations, usage: { cloud, cluster: usage } },
      };
    };
    const fault = isOf(report, event)
      ? handedBack && faultOf(handedBack, event, rounds, batch, under)
      : "the report is of another event, cluster or controller";
    if (fault !== undefined) return refused(fault);
    if (handedBack === undefined) return ended([]);
    const { next, moment } = handedBack;
    if (next.kind === "decisions") {
      const written = await writeDecisions(next.items, batch.objects(), event, {
        ...{ cluster, watch, transport, signal, writtenAs: rounds.as, now: clock.wallTime() },
        stopOf: rounds.stopOf,
      });
      usage = addClusterUsage(usage, written.usage);
      return ended(batch.placed(written.objects));
    }
    const due = (because: Because, afterSeconds: number): Invocation =>
      ended(batch.due(because, afterSeconds));
    if (next.kind === "shared") {
      const stop = tightest(event.stop, await rounds.stopOf?.(event.cluster));
      // It announces what was decided under another stop.
      if (stop !== event.stop && stop !== undefined)
        return due(becauseOfStop(stop, next.because.message), HELD_SECONDS);
      const shared = await applyShared(transport, next.write, signal);
      count({ writes: 1, conflicts: shared.kind === "conflict" ? 1 : 0 });
      if (shared.kind === "failed") return due(shared.because, shared.afterSeconds);
      const read = await readAgain(transport, watch, batch.entries(), signal);
      count({ reads: read.reads });
      batch.renew(read);
      if (batch.entries().length === 0) return ended([]);
    }
    const reference = next.kind === "read" ? referenceOf(next) : under?.reference;
    if (reference === undefined)
      return refused("a shared write was handed back, and nothing was read for it");
    if (signal.aborted || clock.now() - startedMs > ASKING_MS) return due(DEADLINE_REACHED, 0);
    if (invocations === MAX_INVOCATIONS) return due(ROUNDS_EXHAUSTED, 0);
    const round = await readRound(reference, moment, rounds, count);
    if ("because" in round) return due(round.because, round.afterSeconds);
    under = { reference, round };
  }
}

/** Until a batch is decided on anew that was decided under another stop. */
const HELD_SECONDS = 5;

const DEADLINE_REACHED: Because = {
  code: "DeadlineReached",
  message: "the time for the rounds of this event was up",
};
const ROUNDS_EXHAUSTED: Because = {
  code: "InProgress",
  message: `the function was asked ${MAX_INVOCATIONS} times, and something is left`,
};

function isOf({ id, cluster, controller }: Omit<Report, "handedBack">, event: Event): boolean {
  return id === event.id && cluster === event.cluster && controller === event.controller;
}

function refused(message: string): Invocation {
  const why = `nothing of what the function decided was done: ${message}`;
  return { kind: "failed", code: "DecisionsRefused", message: why, settleMs: 0 };
}

function faultOf(
  handedBack: HandedBack,
  event: Event,
  { cluster, watch, as, clock }: WritingRounds,
  batch: SentBatch,
  under: ReadUnder | undefined,
): string | undefined {
  const { dryRun, labelsOnly } = cluster.policies;
  const isHeld = dryRun || event.dryRun === true || labelsOnly || event.stop === "writes";
  if (handedBack.next.kind === "shared" && isHeld)
    return `${handedBack.next.write.resource} ${handedBack.next.write.name} is not written under what holds for the event`;
  const sent: Sent = {
    identity: as.identity,
    resource: watch.resource,
    objects: batch.objects(),
    relatedUids: uidsOf(event.related),
    state: under && { reference: under.reference, read: under.round.state },
    count: under?.round.count,
    keys: watchContextOf(cluster),
    deletion: cluster.nodes.deletion,
    now: clock.wallTime(),
  };
  return faultOfHandedBack(handedBack, sent);
}

function uidsOf(related: Event["related"] = {}): ReadonlySet<string> {
  const items = Object.values(related).flatMap((list) => list.items);
  return new Set(items.map((item) => String(Object(Object(item).metadata).uid)));
}

function referenceOf(next: Extract<HandedBack["next"], { readonly kind: "read" }>): StateReference {
  return { ...next.state, counted: next.counted };
}

/** The state is first: whoever deletes after it was read makes the swap of it fail. */
async function readRound(
  { counted, ...at }: StateReference,
  moment: Moment,
  { transport, signal }: WritingRounds,
  count: (more: Partial<ClusterUsage>) => void,
): Promise<Round | StateUnavailable> {
  count({ reads: counted === undefined ? 1 : 2 });
  const read = await readState(transport, at, signal);
  if (read.kind === "unavailable") return read;
  const state = shortened(read);
  if (counted === undefined) return { moment, state };
  return { moment, state, count: shortened(await countObjects(transport, counted, signal)) };
}

const MAX_WORDS = 500;

/** An API server's own words are of any length, and an event's are not. */
function shortened<Read extends { readonly kind: string }>(read: Read): Read {
  if (!("message" in read) || typeof read.message !== "string") return read;
  return { ...read, message: read.message.slice(0, MAX_WORDS) };
}
