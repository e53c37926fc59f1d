import { type Cluster, settingsOf } from "#config/cluster.ts";
import type { Watch } from "#core/controller.ts";
import type { Because } from "#core/decision.ts";
import { messageOf } from "#core/message-of.ts";
import type { Stop } from "#core/stop.ts";
import { WATCHES, watchesOf } from "#core/watches.ts";
import type { Invoker } from "#delivery/invoker.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { createReadingTurns, type ReadingTurns } from "#kube/follow/reading-turns.ts";
import { type LeaseRead, readLease } from "#sweep/read-lease.ts";
import type { SweepMode } from "#sweep/select.ts";
import { type Everything, sweepEverything } from "#sweep/sweep-everything.ts";
import { isAuditTurn } from "#sweep/turns.ts";

/** All that sweeping clusters touches. */
export interface SweepWorld {
  readonly invoker: Pick<Invoker, "invoke">;
  /** The way to a cluster's API server; rejects where nobody can sign in to it. Whoever gives it closes it. */
  readonly api: (cluster: Cluster) => Promise<Transport>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Tells the events of this process from those of any other; a few random characters. */
  readonly identity: string;
  /** Lists take turns, over all clusters, as each page takes memory. */
  readonly turns: ReadingTurns;
  /** What operators have stopped for a cluster; nothing without it. Never rejects. */
  readonly stopOf?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
  /** The controllers that there are; those of this build without it. */
  readonly watches?: readonly Watch[] | undefined;
}

/** The turns of a process that sweeps: two pages at a time fit into a function of 256 MiB. */
export function createSweepTurns(clock: Clock): ReadingTurns {
  return createReadingTurns(clock, 2);
}

/** When a sweep is, and when it ends. */
export interface SweepTime {
  /** Whose turns it goes by. */
  readonly minute: number;
  /** Nothing new starts once it fires. */
  readonly signal: AbortSignal;
  /** What is in flight is given up once it fires; the same as `signal` without it. */
  readonly giveUp?: AbortSignal;
}

/** What became of one cluster's sweep. */
export interface ClusterSweep {
  readonly cluster: string;
  /** `none` where nothing was to be done: under a dry run, and while writes are stopped. */
  readonly mode: SweepMode | "none";
  readonly lease: LeaseRead["kind"] | undefined;
  /** Objects seen in lists. */
  readonly listed: number;
  /** The gap: nodes that a relay should have brought by now. */
  readonly overdue: number;
  /** How much in the cloud nothing has a use for; undefined where it was not looked for. */
  readonly orphans?: number | undefined;
  readonly invocations: number;
  /** Objects of which there is a report, and objects that have none although they should. */
  readonly reported: number;
  readonly unreported: number;
  /** Why it is not finished; what is left is for the next. */
  readonly because: Because | undefined;
  readonly leaseMs: number;
  readonly durationMs: number;
}

/** Sweeps one cluster. Never rejects: whatever is wrong with it is said of it alone. */
export async function sweepCluster(
  cluster: Cluster,
  world: SweepWorld,
  time: SweepTime,
): Promise<ClusterSweep> {
  const startedMs = world.clock.now();
  const sweep = { ...NOTHING, cluster: cluster.name };
  const ended = (found: Partial<ClusterSweep>): ClusterSweep => ({
    ...sweep,
    ...found,
    durationMs: world.clock.now() - startedMs,
  });
  // Nothing may be done, and so nothing can be late.
  if (cluster.policies.dryRun || (await world.stopOf?.(cluster.name)) === "writes")
    return ended({ mode: "none" });
  if (time.signal.aborted) return ended({ because: DEADLINE_REACHED });
  try {
    const transport = await world.api(cluster);
    const lease = await readLease(transport, world.clock.wallTime(), time.signal);
    const leaseMs = world.clock.now() - startedMs;
    if (time.signal.aborted) return ended({ leaseMs, because: DEADLINE_REACHED });
    if (lease.kind === "unreachable") return ended({ lease: lease.kind, leaseMs, because: becauseOf(lease) });
    const mode = modeOf(cluster, lease, time.minute);
    if (mode === "lease") return ended({ lease: lease.kind, mode, leaseMs });
    const found = await listAndSend(cluster, world, time, transport, mode);
    return ended({ lease: lease.kind, mode, leaseMs, ...summaryOf(found, time.signal) });
  } catch (error) {
    return ended({ because: { code: "SweepFailed", message: messageOf(error) } });
  }
}

function modeOf({ name }: Cluster, lease: LeaseRead, minute: number): SweepMode {
  if (lease.kind !== "fresh") return "full";
  return isAuditTurn(name, minute) ? "audit" : "lease";
}

function listAndSend(
  cluster: Cluster,
  { turns, watches = WATCHES, ...world }: SweepWorld,
  { minute, signal, giveUp = signal }: SweepTime,
  transport: Transport,
  mode: Exclude<SweepMode, "lease">,
): Promise<Everything> {
  const id = `${cluster.name.slice(0, 70)}.${world.identity.slice(0, 24)}-${minute}`;
  const settings = settingsOf(cluster);
  let events = 0;
  return sweepEverything({
    ...{ ...world, cluster, mode, minute, signal, giveUp },
    transport: turns.take(transport),
    watches: watchesOf(cluster.controllers, watches).filter((watch) => watch.isFor?.(settings) !== false),
    nextEventId() {
      events += 1;
      return `${id}.${events}`;
    },
  });
}

function summaryOf({ listed, sent, failures }: Everything, signal: AbortSignal): Partial<ClusterSweep> {
  const sum = (read: (each: Everything["sent"][number]) => number): number =>
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
    because: signal.aborted ? DEADLINE_REACHED : (becauseOf(failure ?? unsent) ?? leftOut(unreported)),
  };
}

function leftOut(unreported: number): Because | undefined {
  if (unreported === 0) return undefined;
  return { code: "NotNamed", message: `reports do not name ${unreported} objects` };
}

function becauseOf(failure: Because | undefined): Because | undefined {
  return failure === undefined ? undefined : { code: failure.code, message: failure.message };
}

const DEADLINE_REACHED: Because = { code: "DeadlineReached", message: "the time of this sweep was up" };

const NOTHING: Omit<ClusterSweep, "cluster"> = {
  mode: "full",
  lease: undefined,
  ...{ listed: 0, overdue: 0, invocations: 0, reported: 0, unreported: 0 },
  because: undefined,
  ...{ leaseMs: 0, durationMs: 0 },
};
