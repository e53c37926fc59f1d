import {
  type Brake,
  type BrakeLimit,
  CLOCK_SECONDS,
  type Deletion,
  type DeletionState,
  INTENT_SECONDS,
  secondsSince,
} from "#core/node-lifecycle/state.ts";
import type { DeletionSettings } from "#core/settings.ts";

type Deletions = DeletionState["deletions"];

/** What the brake goes by. */
export interface BrakeContext {
  readonly now: Date;
  readonly settings: DeletionSettings;
  /** Nodes of the cluster now … */
  readonly nodes: number;
  /** … and those among them that go in any case. */
  readonly leaving: number;
}

/**
 * A deletion is sent within the life of its intent, and by the clock of somebody else: two that are so far apart as written are
 * at least ten minutes, or a day, apart.
 */
const MARGIN_SECONDS = INTENT_SECONDS + CLOCK_SECONDS;

const TEN_MINUTES_SECONDS = 600 + MARGIN_SECONDS;
const DAY_SECONDS = 86_400 + MARGIN_SECONDS;

/** What of the deletions is still of use: those that count for a day, the others while they may be under way. */
export function rememberedDeletions(deletions: Deletions, now: Date): Deletions {
  const kept = Object.entries(deletions).filter(
    ([, { at, counted }]) => secondsSince(at, now) < (counted ? DAY_SECONDS : MARGIN_SECONDS),
  );
  return Object.fromEntries(kept);
}

/** Whether the deletion may still be under way. */
export function isUnderWay({ at }: Deletion, now: Date): boolean {
  return Math.abs(secondsSince(at, now)) < MARGIN_SECONDS;
}

/** The brake that one deletion too many of these pulls; undefined where none is. How many nodes wait for it the caller counts. */
export function brakeOf(deletions: Deletions, context: BrakeContext): Omit<Brake, "waiting"> | undefined {
  const { now, settings, nodes, leaving } = context;
  const at = now.toISOString();
  const counted = Object.values(deletions).filter((deletion) => deletion.counted);
  const added = counted.filter((deletion) => deletion.at === at).length;
  const pulled = (limit: BrakeLimit, deleted: number): Omit<Brake, "waiting"> => ({
    since: at,
    limit,
    nodes,
    deleted,
  });
  if (nodes - leaving - added < 1) return pulled("AllNodes", counted.length - 1);
  const { tenMinutes, day } = windowsOf(deletions, { now, settings, nodes });
  if (tenMinutes.deletions > tenMinutes.most) return pulled("TenMinutes", tenMinutes.deletions - 1);
  if (day.deletions > day.most) return pulled("Day", day.deletions - 1);
  return undefined;
}

/** Deletions of a stretch of time that count, and how many there may be. */
export interface BrakeWindow {
  readonly deletions: number;
  readonly most: number;
}

/** What the brake goes by at a moment: the last ten minutes and the last day, each with the margin that clocks take. */
export function windowsOf(
  deletions: Deletions,
  { now, settings, nodes }: Omit<BrakeContext, "leaving">,
): { readonly tenMinutes: BrakeWindow; readonly day: BrakeWindow } {
  const counted = Object.values(deletions).filter((deletion) => deletion.counted);
  const tenMinutes = within(counted, TEN_MINUTES_SECONDS, now);
  const day = within(counted, DAY_SECONDS, now);
  const percent = settings.maxPercentIn10Minutes;
  // One node of a small cluster is more than a fifth of it.
  const allowed = percent === 0 ? 0 : Math.max(1, shareOf(tenMinutes, percent, nodes));
  return {
    tenMinutes: { deletions: tenMinutes.length, most: allowed },
    day: { deletions: day.length, most: shareOf(day, settings.maxPercentIn24Hours, nodes) },
  };
}

function within(deletions: readonly Deletion[], seconds: number, now: Date): readonly Deletion[] {
  return deletions.filter(({ at }) => secondsSince(at, now) < seconds);
}

/** How many nodes that share is of those there were before the deletions; never more than can have been there. */
function shareOf(deletions: readonly Deletion[], percent: number, nodes: number): number {
  const oldest = deletions.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at)).slice(0, 1);
  const before = Math.min(nodes + deletions.length, ...oldest.map((deletion) => deletion.nodes));
  // A third of three nodes is one.
  return Math.floor((before * percent) / 100 + 1e-9);
}
