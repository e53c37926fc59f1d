import { buildWatchContext, type Cluster } from "#config/cluster.ts";
import { checkDeferredWrites, type SentContext } from "#core/check-deferred-writes.ts";
import type { StateReference } from "#core/controller.ts";
import type { Event } from "#core/event.ts";
import type { Reason } from "#core/reason.ts";
import type { RelayWriter } from "#core/relay-lease.ts";
import type { DeferredWrites } from "#core/report.ts";
import {
  addClusterUsage,
  addUsage,
  type ClusterUsage,
  NO_CLOUD_USAGE,
  NO_CLUSTER_USAGE,
  type ObjectReport,
  type Report,
} from "#core/report.ts";
import type { Moment, Round } from "#core/rounds.ts";
import { describeStop, type Stop, selectTightestStop } from "#core/stop.ts";
import type { ApiObject, Watch } from "#core/watch.ts";
import { applyShared } from "#kube/apply/apply-shared.ts";
import {
  type BatchEntry,
  countObjects,
  type ReadBatch,
  readAgain,
  readState,
  type StateUnavailable,
} from "#kube/apply/read.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { Invocation, Invoker } from "#platforms/invoker.ts";
import { writeDecisions } from "#relay/delivery/write-decisions.ts";

/** The dependencies of the rounds of one event. */
export interface WritingRounds {
  readonly cluster: Cluster;
  readonly watch: Watch;
  readonly as: RelayWriter;
  readonly invoker: Pick<Invoker, "invoke">;
  readonly clock: Clock;
  /** Writes with the identity of the controller's function. */
  readonly transport: Transport;
  /** Fires when the event's result is not needed any more. */
  readonly unwanted: AbortSignal;
  /** Nothing is sent to the cluster after it fires. */
  readonly signal: AbortSignal;
  /** Reads what operators have stopped for a cluster now. */
  readonly readStop?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
}

/**
 * The limit for one event. More means that the function is not ours, or that several writers undo each
 * other's work.
 */
const MAX_INVOCATIONS = 8;

/** No function is invoked again after this time. */
const ASKING_MS = 25_000;

/** The state that was read for the batch, and its location. */
interface ReadUnder {
  readonly reference: StateReference;
  readonly round: Round;
}

/**
 * Invokes a function and applies its deferred writes, until every object of the event has an entry.
 *
 * If a batch is decided under a state of the cluster, this reads the state and invokes the function again.
 * Objects are read again after each change of that state.
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
    const fault = isReportFor(report, event)
      ? handedBack && findFault(handedBack, event, rounds, batch, under)
      : "the report is of another event, cluster or controller";
    if (fault !== undefined) return buildRefusal(fault);
    if (handedBack === undefined) return ended([]);
    const { next, moment } = handedBack;
    if (next.kind === "decisions") {
      const written = await writeDecisions(next.items, batch.objects(), event, {
        ...{ cluster, watch, transport, signal, writtenAs: rounds.as, now: clock.wallTime() },
        readStop: rounds.readStop,
      });
      usage = addClusterUsage(usage, written.usage);
      return ended(batch.placed(written.objects));
    }
    const due = (because: Reason, afterSeconds: number): Invocation =>
      ended(batch.due(because, afterSeconds));
    if (next.kind === "shared") {
      const stop = selectTightestStop(event.stop, await rounds.readStop?.(event.cluster));
      // The function decided under another stop than the current one.
      if (stop !== event.stop && stop !== undefined)
        return due(describeStop(stop, next.because.message), HELD_SECONDS);
      const shared = await applyShared(transport, next.write, signal);
      count({ writes: 1, conflicts: shared.kind === "conflict" ? 1 : 0 });
      if (shared.kind === "failed") return due(shared.because, shared.afterSeconds);
      const read = await readAgain(transport, watch, batch.entries(), signal);
      count({ reads: read.reads });
      batch.renew(read);
      if (batch.entries().length === 0) return ended([]);
    }
    const reference = next.kind === "read" ? toStateReference(next) : under?.reference;
    if (reference === undefined)
      return buildRefusal("a shared write was handed back, and nothing was read for it");
    if (signal.aborted || clock.now() - startedMs > ASKING_MS) return due(DEADLINE_REACHED, 0);
    if (invocations === MAX_INVOCATIONS) return due(ROUNDS_EXHAUSTED, 0);
    const round = await readRound(reference, moment, rounds, count);
    if ("because" in round) return due(round.because, round.afterSeconds);
    under = { reference, round };
  }
}

/** The delay until a batch that was decided under another stop is decided again. */
const HELD_SECONDS = 5;

const DEADLINE_REACHED: Reason = {
  code: "DeadlineReached",
  message: "the time for the rounds of this event was up",
};

const ROUNDS_EXHAUSTED: Reason = {
  code: "InProgress",
  message: `the function was invoked ${MAX_INVOCATIONS} times, and work remains`,
};

function isReportFor({ id, cluster, controller }: Omit<Report, "handedBack">, event: Event): boolean {
  return id === event.id && cluster === event.cluster && controller === event.controller;
}

function buildRefusal(message: string): Invocation {
  const why = `nothing of what the function decided was done: ${message}`;
  return { kind: "failed", code: "DecisionsRefused", message: why, settleMs: 0 };
}

function findFault(
  handedBack: DeferredWrites,
  event: Event,
  { cluster, watch, as, clock }: WritingRounds,
  batch: SentBatch,
  under: ReadUnder | undefined,
): string | undefined {
  const { dryRun, labelsOnly } = cluster.policies;
  const isHeld = dryRun || event.dryRun === true || labelsOnly || event.stop === "writes";
  if (handedBack.next.kind === "shared" && isHeld)
    return `${handedBack.next.write.resource} ${handedBack.next.write.name} is not written under what holds for the event`;
  const sent: SentContext = {
    identity: as.identity,
    resource: watch.resource,
    objects: batch.objects(),
    relatedUids: listUids(event.related),
    state: under && { reference: under.reference, read: under.round.state },
    count: under?.round.count,
    keys: buildWatchContext(cluster),
    deletion: cluster.nodes.deletion,
    now: clock.wallTime(),
  };
  return checkDeferredWrites(handedBack, sent);
}

function listUids(related: Event["related"] = {}): ReadonlySet<string> {
  const items = Object.values(related).flatMap((list) => list.items);
  return new Set(items.map((item) => String(Object(Object(item).metadata).uid)));
}

function toStateReference(next: Extract<DeferredWrites["next"], { readonly kind: "read" }>): StateReference {
  return { ...next.state, counted: next.counted };
}

/** Reads the state first: if another writer deletes after that, the change of the state fails. */
async function readRound(
  { counted, ...at }: StateReference,
  moment: Moment,
  { transport, signal }: WritingRounds,
  count: (more: Partial<ClusterUsage>) => void,
): Promise<Round | StateUnavailable> {
  count({ reads: counted === undefined ? 1 : 2 });
  const read = await readState(transport, at, signal);
  if (read.kind === "unavailable") return read;
  const state = shortenRead(read);
  if (counted === undefined) return { moment, state };
  return { moment, state, count: shortenRead(await countObjects(transport, counted, signal)) };
}

const MAX_CHARACTERS = 500;

/** Shortens an API server's message, which may be longer than an event may be. */
function shortenRead<Read extends { readonly kind: string }>(read: Read): Read {
  if (!("message" in read) || typeof read.message !== "string") return read;
  return { ...read, message: read.message.slice(0, MAX_CHARACTERS) };
}

/**
 * The objects of an event during the rounds that decide on them. Objects may leave between rounds, which
 * moves the others to new positions.
 */
interface SentBatch {
  /** Returns the snapshots for the next event. */
  snapshots(): readonly unknown[];
  /** Returns the objects by their position in the next event. */
  objects(): ReadonlyMap<number, ApiObject>;
  /** Returns the entries by their position in the first event. */
  entries(): readonly BatchEntry[];
  /** Returns the entries of a report with their positions in the first event. */
  placed(reports: readonly ObjectReport[]): readonly ObjectReport[];
  /** Takes the objects as they were read again, and the reports on those that need no more decision. */
  renew(read: ReadBatch): void;
  /** Returns the reports on the objects that left the batch so far. */
  left(): readonly ObjectReport[];
  /** Returns an entry for each object that makes it due again, with the reason. */
  due(because: Reason, afterSeconds: number): readonly ObjectReport[];
}

interface Entry {
  readonly index: number;
  readonly snapshot: unknown;
  /** Undefined if it is not an object of the resource; the function reports that itself. */
  readonly object: ApiObject | undefined;
}

/** Creates the batch of an event. */
function createSentBatch(cluster: Cluster, watch: Watch, snapshots: readonly unknown[]): SentBatch {
  const context = buildWatchContext(cluster);
  const left: ObjectReport[] = [];
  let entries = snapshots.map((snapshot, index): Entry => {
    const parsed = watch.parse(snapshot);
    return { index, snapshot, object: parsed.kind === "object" ? parsed.object : undefined };
  });
  const known = (): readonly BatchEntry[] =>
    entries.flatMap(({ index, object }) => (object === undefined ? [] : [{ index, object }]));
  return {
    snapshots: () => entries.map(({ snapshot }) => snapshot),
    objects: () =>
      new Map(
        entries.flatMap(({ object }, place) => (object === undefined ? [] : [[place, object] as const])),
      ),
    entries: known,
    placed: (reports) =>
      reports.flatMap((report) => {
        const entry = entries[report.index];
        return entry === undefined ? [] : [{ ...report, index: entry.index }];
      }),
    renew(read) {
      const fresh = new Map(read.objects.map((each) => [each.index, each]));
      entries = entries.flatMap((entry): Entry[] => {
        const read = fresh.get(entry.index);
        if (read === undefined) return [entry];
        const { object, report } = read;
        if (report !== undefined) left.push(report);
        return object === undefined
          ? []
          : [{ index: entry.index, object, snapshot: watch.snapshot(object, context) }];
      });
    },
    left: () => left,
    due: (because, afterSeconds) =>
      known().map(({ index, object: { metadata } }): ObjectReport => {
        const { namespace, name, uid } = metadata;
        const about = { index, ...(namespace === undefined ? {} : { namespace }), name, uid };
        return { ...about, outcome: "retry", because, afterSeconds };
      }),
  };
}
