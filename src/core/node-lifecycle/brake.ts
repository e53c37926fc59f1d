import type { DeletionSettings } from "#core/node/settings.ts";
import {
  type Brake,
  type BrakeLimit,
  CLOCK_SECONDS,
  type Deletion,
  type DeletionState,
  getSecondsSince,
  INTENT_SECONDS,
} from "#core/node-lifecycle/state.ts";

type Deletions = DeletionState["deletions"];

/** The inputs of the brake. */
export interface BrakeContext {
  readonly now: Date;
  readonly settings: DeletionSettings;
  /** The number of nodes in the cluster now. */
  readonly nodes: number;
  /** The number among them that leave in any case. */
  readonly leaving: number;
}

/**
 * A deletion is sent within the life of its intent, and the writer's clock may differ. With this margin
 * between their recorded times, two deletions are really at least ten minutes, or a day, apart.
 */
const MARGIN_SECONDS = INTENT_SECONDS + CLOCK_SECONDS;

const TEN_MINUTES_SECONDS = 600 + MARGIN_SECONDS;
const DAY_SECONDS = 86_400 + MARGIN_SECONDS;

/**
 * Returns the deletions that still matter: counted ones for a day, the others while they may be in progress.
 */
export function pruneDeletions(deletions: Deletions, now: Date): Deletions {
  const relevant = Object.entries(deletions).filter(
    ([, { at, counted }]) => getSecondsSince(at, now) < (counted ? DAY_SECONDS : MARGIN_SECONDS),
  );
  return Object.fromEntries(relevant);
}

/** Returns whether the deletion may still be in progress. */
export function isUnderWay({ at }: Deletion, now: Date): boolean {
  return Math.abs(getSecondsSince(at, now)) < MARGIN_SECONDS;
}

/**
 * Returns the brake that these deletions engage by exceeding a limit; undefined if they do not. The caller
 * counts the waiting nodes.
 */
export function checkBrake(deletions: Deletions, context: BrakeContext): Omit<Brake, "waiting"> | undefined {
  const { now, settings, nodes, leaving } = context;
  const at = now.toISOString();
  const counted = Object.values(deletions).filter((deletion) => deletion.counted);
  const added = counted.filter((deletion) => deletion.at === at).length;
  const engageBrake = (limit: BrakeLimit, deleted: number): Omit<Brake, "waiting"> => ({
    since: at,
    limit,
    nodes,
    deleted,
  });
  if (nodes - leaving - added < 1) return engageBrake("AllNodes", counted.length - 1);
  const { tenMinutes, day } = countBrakeWindows(deletions, { now, settings, nodes });
  if (tenMinutes.deletions > tenMinutes.most) return engageBrake("TenMinutes", tenMinutes.deletions - 1);
  if (day.deletions > day.most) return engageBrake("Day", day.deletions - 1);
  return undefined;
}

/** The deletions that count in a period, and their maximum number. */
export interface BrakeWindow {
  readonly deletions: number;
  readonly most: number;
}

/**
 * Returns the windows of the brake at a time: the last ten minutes and the last day, each with the margin for
 * clocks.
 */
export function countBrakeWindows(
  deletions: Deletions,
  { now, settings, nodes }: Omit<BrakeContext, "leaving">,
): { readonly tenMinutes: BrakeWindow; readonly day: BrakeWindow } {
  const counted = Object.values(deletions).filter((deletion) => deletion.counted);
  const tenMinutes = selectRecent(counted, TEN_MINUTES_SECONDS, now);
  const day = selectRecent(counted, DAY_SECONDS, now);
  const percent = settings.maxPercentIn10Minutes;
  // In a small cluster, one node is more than a fifth.
  const allowed = percent === 0 ? 0 : Math.max(1, countShare(tenMinutes, percent, nodes));
  return {
    tenMinutes: { deletions: tenMinutes.length, most: allowed },
    day: { deletions: day.length, most: countShare(day, settings.maxPercentIn24Hours, nodes) },
  };
}

function selectRecent(deletions: readonly Deletion[], seconds: number, now: Date): readonly Deletion[] {
  return deletions.filter(({ at }) => getSecondsSince(at, now) < seconds);
}

/**
 * The number of nodes that the percentage allows, of those before the deletions; never more than could have
 * existed.
 */
function countShare(deletions: readonly Deletion[], percent: number, nodes: number): number {
  const oldest = deletions.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at)).slice(0, 1);
  const initialNodes = Math.min(nodes + deletions.length, ...oldest.map((deletion) => deletion.nodes));
  // The tolerance makes a third of three nodes one.
  return Math.floor((initialNodes * percent) / 100 + 1e-9);
}
