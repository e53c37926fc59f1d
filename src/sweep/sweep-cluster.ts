import { type Cluster, selectSettings } from "#config/cluster.ts";
import { selectNeededWatches, WATCHES } from "#core/controllers.ts";
import type { Reason } from "#core/reason.ts";
import { type LeaseState, parseLeaseState, RELAY_LEASE_NAME } from "#core/relay-lease.ts";
import { LEASES } from "#core/resources/resource.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { Stop } from "#core/stop.ts";
import type { Watch } from "#core/watch.ts";
import { readObject } from "#kube/apply/requests.ts";
import { withSmallAnswers } from "#kube/client/byte-buffer.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { createReadPermits, type ReadPermits } from "#kube/follow/read-permits.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { isAuditTurn, type SweepMode } from "#sweep/select.ts";
import { type SweepEverythingOptions, type SweepOutcome, sweepEverything } from "#sweep/sweep-everything.ts";
import type { TouchedObjects } from "#sweep/touched.ts";

/** The dependencies of sweeping clusters. */
export interface SweepDependencies {
  readonly invoker: Pick<Invoker, "invoke">;
  /** Returns a connection to a cluster's API server; rejects if sign-in fails. The provider closes it. */
  readonly api: (cluster: Cluster) => Promise<Transport>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** A few random characters that distinguish this process's events from others. */
  readonly identity: string;
  /** Limits concurrent lists over all clusters, because each page takes memory. */
  readonly turns: ReadPermits;
  /** Returns the operators' stop for a cluster. Default: no stop. Never rejects. */
  readonly readStop?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
  /** The existing controllers. Default: those of this build. */
  readonly watches?: readonly Watch[] | undefined;
}

/** Creates the read permits of a sweeping process: two pages at a time fit into a function of 256 MiB. */
export function createSweepTurns(clock: Clock): ReadPermits {
  return createReadPermits(clock, 2);
}

/** The time of a sweep, and its end. */
export interface SweepTime {
  /** The minute that decides the turns. */
  readonly minute: number;
  /** When it is aborted, nothing new starts. */
  readonly signal: AbortSignal;
  /** When it is aborted, what is in flight is abandoned. Default: `signal`. */
  readonly giveUp?: AbortSignal;
}

/** The result of one cluster's sweep. */
export interface ClusterSweep {
  readonly cluster: string;
  /** `none` if nothing may be done: under a dry run, or while writes are stopped. */
  readonly mode: SweepMode | "none";
  readonly lease: LeaseRead["kind"] | undefined;
  /** Objects seen in lists. */
  readonly listed: number;
  /** The gap: nodes and Services that a relay should have delivered by now. */
  readonly overdue: number;
  /** Orphaned cloud resources; undefined without an audit. */
  readonly orphans?: number | undefined;
  readonly invocations: number;
  /** Objects with a report, and objects that should have one and do not. */
  readonly reported: number;
  readonly unreported: number;
  /** Why the sweep is incomplete; the next sweep covers the rest. */
  readonly because: Reason | undefined;
  readonly leaseMs: number;
  readonly durationMs: number;
}

/** Sweeps one cluster. Never rejects: an error affects only this cluster's result. */
export function sweepCluster(
  cluster: Cluster,
  world: SweepDependencies,
  time: SweepTime,
): Promise<ClusterSweep> {
  return sweepConnected(cluster, world, time, async (transport, startedMs) => {
    const lease = await readLease(transport, world.clock.wallTime(), time.signal);
    const leaseMs = world.clock.now() - startedMs;
    if (time.signal.aborted) return { leaseMs, because: DEADLINE_REACHED };
    if (lease.kind === "unreachable") return { lease: lease.kind, leaseMs, because: toReason(lease) };
    const mode = selectMode(cluster, lease, time.minute);
    if (mode === "lease") return { lease: lease.kind, mode, leaseMs };
    const found = await listAndSend(cluster, world, time, transport, { mode });
    return { lease: lease.kind, mode, leaseMs, ...summarizeSweep(found, time.signal) };
  });
}

/**
 * Sends the touched objects of a cluster that need work, and the objects that read touched ones. It does not
 * matter whether a relay follows the cluster. Never rejects.
 */
export function sweepTouched(
  cluster: Cluster,
  touched: TouchedObjects,
  world: SweepDependencies,
  time: SweepTime,
): Promise<ClusterSweep> {
  const mode = "touched";
  return sweepConnected(cluster, world, time, async (transport) => {
    const found = await listAndSend(cluster, world, time, transport, { mode, touched });
    return { mode, ...summarizeSweep(found, time.signal) };
  });
}

async function sweepConnected(
  cluster: Cluster,
  world: SweepDependencies,
  time: SweepTime,
  act: (transport: Transport, startedMs: number) => Promise<Partial<ClusterSweep>>,
): Promise<ClusterSweep> {
  const startedMs = world.clock.now();
  const sweep = { ...NOTHING, cluster: cluster.name };
  const ended = (found: Partial<ClusterSweep>): ClusterSweep => ({
    ...sweep,
    ...found,
    durationMs: world.clock.now() - startedMs,
  });
  // Nothing may be written, so nothing can be late.
  if (cluster.policies.dryRun || (await world.readStop?.(cluster.name)) === "writes")
    return ended({ mode: "none" });
  if (time.signal.aborted) return ended({ because: DEADLINE_REACHED });
  try {
    return ended(await act(await world.api(cluster), startedMs));
  } catch (error) {
    return ended({ because: { code: "SweepFailed", message: getErrorMessage(error) } });
  }
}

function selectMode({ name }: Cluster, lease: LeaseRead, minute: number): SweepMode {
  if (lease.kind !== "fresh") return "full";
  return isAuditTurn(name, minute) ? "audit" : "lease";
}

function listAndSend(
  cluster: Cluster,
  { turns, watches = WATCHES, ...world }: SweepDependencies,
  { minute, signal, giveUp = signal }: SweepTime,
  transport: Transport,
  what: Pick<SweepEverythingOptions, "mode" | "touched">,
): Promise<SweepOutcome> {
  const id = `${cluster.name.slice(0, 70)}.${world.identity.slice(0, 24)}-${minute}`;
  let events = 0;
  return sweepEverything({
    ...{ ...world, ...what, cluster, minute, signal, giveUp },
    transport: turns.wrapTransport(transport),
    direct: transport,
    // Nothing is late without an optional resource.
    watches: selectNeededWatches(cluster.controllers, watches, selectSettings(cluster)).filter(
      ({ isOptional }) => isOptional !== true,
    ),
    nextEventId() {
      events += 1;
      return `${id}.${events}`;
    },
  });
}

function summarizeSweep(
  { listed, sent, failures }: SweepOutcome,
  signal: AbortSignal,
): Partial<ClusterSweep> {
  const sum = (read: (each: SweepOutcome["sent"][number]) => number): number =>
    sent.reduce((total, each) => total + read(each), 0);
  const unreported = sum((each) => each.unreported);
  const [failure] = failures;
  const orphans = sent.flatMap((each) => each.orphans ?? []).at(0);
  const unsent = sent.map((each) => each.failure).find((each) => each !== undefined);
  return {
    listed,
    overdue: sum((each) => each.overdue),
    ...(orphans === undefined ? {} : { orphans }),
    invocations: sum((each) => each.invocations),
    reported: sum((each) => each.reported),
    unreported,
    because: signal.aborted
      ? DEADLINE_REACHED
      : (toReason(failure ?? unsent) ?? createUnreportedReason(unreported)),
  };
}

function createUnreportedReason(unreported: number): Reason | undefined {
  if (unreported === 0) return undefined;
  return { code: "NotNamed", message: `reports do not name ${unreported} objects` };
}

function toReason(failure: Reason | undefined): Reason | undefined {
  return failure === undefined ? undefined : { code: failure.code, message: failure.message };
}

const DEADLINE_REACHED: Reason = { code: "DeadlineReached", message: "the time of this sweep was up" };

const NOTHING: Omit<ClusterSweep, "cluster"> = {
  mode: "full",
  lease: undefined,
  ...{ listed: 0, overdue: 0, invocations: 0, reported: 0, unreported: 0 },
  because: undefined,
  ...{ leaseMs: 0, durationMs: 0 },
};

/** The state of a cluster's relay, read with one request. */
type LeaseRead =
  | LeaseState
  /** No answer came: other requests would fail as well. */
  | { readonly kind: "unreachable"; readonly code: string; readonly message: string };

/** Reads the Lease of a cluster's relay. */
export async function readLease(transport: Transport, now: Date, signal: AbortSignal): Promise<LeaseRead> {
  const read = await readObject(
    withSmallAnswers(transport),
    LEASES,
    RELAY_LEASE_NAME,
    // A malformed Lease is part of the relay's state.
    (value) => ({ kind: "object", object: parseLeaseState(value, now) }),
    signal,
  );
  if (read.kind === "object") return read.object;
  if (read.kind === "gone") return { kind: "missing" };
  const { message } = read;
  if (read.kind !== "unavailable" || read.code === undefined || read.code === "AnswerTooLarge")
    return { kind: "unreadable", message };
  return { kind: "unreachable", code: read.code, message };
}
