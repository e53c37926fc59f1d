import * as z from "zod";
import { ClusterName } from "#core/event.ts";
import { faultsOf } from "#core/faults.ts";
import { shown } from "#core/shown-text.ts";

/** Clusters that one invocation sweeps. */
export const MAX_SHARD_CLUSTERS = 25;

/** The clusters that an invocation is to sweep, and the moment whose turns it goes by. */
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

/** What a sweep is invoked with: nothing or an event of the schedule, for all clusters; or a shard, by itself. */
export type SweepPayload =
  | { readonly kind: "all"; readonly atMs: number }
  | { readonly kind: "shard"; readonly shard: Shard }
  /** A shard of another time: its clusters have had other sweeps since. */
  | { readonly kind: "late"; readonly lateMs: number };

/** A sweep that was invoked with what is none; nothing was done. */
export class SweepRejected extends Error {
  override readonly name = "SweepRejected";
  readonly code = "SweepRejected";

  constructor(words: string) {
    super(
      `the sweep takes {}, a scheduled event of EventBridge, or {"shard":{"clusters":[…],"at":…}}; nothing was done: ${words}`,
    );
  }
}

/** Further from the clock than this, what an invocation is about is over; whoever is late is followed by the next. */
const MAX_DIFFERENCE_MS = 5 * 60_000;

const Nothing = z.strictObject({});
const Sharded = z.strictObject({ shard: Shard });
const Scheduled = z.object({
  source: z.literal("aws.events"),
  "detail-type": z.literal("Scheduled Event"),
  time: z.iso.datetime().optional().catch(undefined),
});

/** Parses what came in at the door; throws `SweepRejected`, which names faults by path and quotes nothing. */
export function parseSweepPayload(value: unknown, nowMs: number): SweepPayload {
  if (Nothing.safeParse(value).success) return { kind: "all", atMs: nowMs };
  const scheduled = Scheduled.safeParse(value);
  if (scheduled.success) return { kind: "all", atMs: timeOf(scheduled.data.time, nowMs) };
  const sharded = Sharded.safeParse(value);
  if (!sharded.success) throw new SweepRejected(wordsOf(sharded.error));
  const { shard } = sharded.data;
  const lateMs = Math.abs(nowMs - shard.at);
  return lateMs > MAX_DIFFERENCE_MS ? { kind: "late", lateMs } : { kind: "shard", shard };
}

/** The schedule's own minute, so that one that fires a moment early or late gives no minute two turns and the next none. */
function timeOf(time: string | undefined, nowMs: number): number {
  const atMs = time === undefined ? Number.NaN : Date.parse(time);
  return Math.abs(nowMs - atMs) <= MAX_DIFFERENCE_MS ? atMs : nowMs;
}

function wordsOf(error: z.ZodError): string {
  const faults = faultsOf(error).slice(0, 5);
  return shown(faults.map(({ path, message }) => `${path || "event"}: ${message}`).join("; "), 500);
}
