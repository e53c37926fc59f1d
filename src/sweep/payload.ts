import * as z from "zod";
import { listFaults } from "#core/config-errors.ts";
import { ClusterName } from "#core/event.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import type { ClusterSweep } from "#sweep/sweep-cluster.ts";

/** Clusters that one invocation sweeps. */
export const MAX_SHARD_CLUSTERS = 25;

/** The clusters that an invocation sweeps, and the time that decides their turns. */
export const Shard = z.strictObject({
  clusters: z
    .array(ClusterName)
    .min(1)
    .max(MAX_SHARD_CLUSTERS)
    .refine((names) => new Set(names).size === names.length, "a cluster stands here twice"),
  /** Milliseconds since the epoch. */
  at: z.int().min(0),
});
export type Shard = z.output<typeof Shard>;

/**
 * The payload of a sweep: nothing or a schedule's event for all clusters, or a shard from the sweep itself.
 */
export type SweepPayload =
  | { readonly kind: "all"; readonly atMs: number }
  | { readonly kind: "shard"; readonly shard: Shard }
  /** A shard of an earlier time: later sweeps have covered its clusters. */
  | { readonly kind: "late"; readonly lateMs: number };

/** The payload of a sweep is invalid; nothing was done. */
export class SweepRejected extends Error {
  override readonly name = "SweepRejected";
  readonly code = "SweepRejected";

  constructor(words: string) {
    super(
      `the sweep takes {}, a scheduled event of EventBridge, or {"shard":{"clusters":[…],"at":…}}; nothing was done: ${words}`,
    );
  }
}

/** A payload further from the clock is outdated; the next sweep follows anyway. */
const MAX_DIFFERENCE_MS = 5 * 60_000;

const Nothing = z.strictObject({});

const Sharded = z.strictObject({ shard: Shard });

const Scheduled = z.object({
  source: z.literal("aws.events"),
  "detail-type": z.literal("Scheduled Event"),
  time: z.iso.datetime().optional().catch(undefined),
});

/** Parses the payload. Throws `SweepRejected`, which names faults by path and quotes nothing. */
export function parseSweepPayload(value: unknown, nowMs: number): SweepPayload {
  if (Nothing.safeParse(value).success) return { kind: "all", atMs: nowMs };
  const scheduled = Scheduled.safeParse(value);
  if (scheduled.success) return { kind: "all", atMs: selectSweepTime(scheduled.data.time, nowMs) };
  const sharded = Sharded.safeParse(value);
  if (!sharded.success) throw new SweepRejected(formatIssues(sharded.error));
  const { shard } = sharded.data;
  const lateMs = Math.abs(nowMs - shard.at);
  return lateMs > MAX_DIFFERENCE_MS ? { kind: "late", lateMs } : { kind: "shard", shard };
}

/**
 * Uses the schedule's own minute, so that an early or late trigger does not sweep one minute twice and skip
 * the next.
 */
function selectSweepTime(time: string | undefined, nowMs: number): number {
  const atMs = time === undefined ? Number.NaN : Date.parse(time);
  return Math.abs(nowMs - atMs) <= MAX_DIFFERENCE_MS ? atMs : nowMs;
}

function formatIssues(error: z.ZodError): string {
  const faults = listFaults(error).slice(0, 5);
  return sanitizeText(faults.map(({ path, message }) => `${path || "event"}: ${message}`).join("; "), 500);
}

/** One log line: `LogLine` of the core without the time. */
export type SweepLine = Readonly<Record<string, unknown>>;

/** Limit of cluster names in one line. */
const MAX_NAMED = 25;

/**
 * Builds the log lines of a shard: one for each cluster that was listed or failed, and one for all with fresh
 * Leases, of which there may be a thousand a minute.
 */
export function buildSweepLines(sweeps: readonly ClusterSweep[]): readonly SweepLine[] {
  const isQuiet = ({ mode, because }: ClusterSweep): boolean => mode === "lease" && because === undefined;
  const quiet = sweeps.filter(isQuiet);
  const lines = sweeps.filter((each) => !isQuiet(each) && each.mode !== "none").map(buildSweepLine);
  if (quiet.length === 0) return lines;
  const leaseMs = Math.max(...quiet.map((each) => each.leaseMs));
  const facts = {
    mode: "lease",
    lease: "fresh",
    clusters: quiet.length,
    listed: 0,
    overdue: 0,
    invocations: 0,
  };
  return [...lines, { level: "info", event: "SweepFinished", ...facts, leaseMs }];
}

/** Builds the line for clusters whose sweep was not attempted, with the reason. */
export function buildUnsweptLine(clusters: readonly string[], code: string, message: string): SweepLine {
  const names = clusters.slice(0, MAX_NAMED);
  return { level: "error", event: "SweepNotDone", code, message, clusters: clusters.length, names };
}

function buildSweepLine(sweep: ClusterSweep): SweepLine {
  const { cluster, mode, lease, listed, overdue, orphans, invocations, reported, unreported, because } =
    sweep;
  const facts = {
    cluster,
    mode,
    lease,
    listed,
    overdue,
    orphans,
    invocations,
    objects: reported,
    unreported,
  };
  const durations = { leaseMs: sweep.leaseMs, durationMs: sweep.durationMs };
  const isWell = because === undefined && overdue === 0 && mode !== "full";
  return { level: isWell ? "info" : "warn", event: "SweepFinished", ...facts, because, ...durations };
}
