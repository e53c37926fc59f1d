/** A Node that our controllers deleted. */
interface Deletion {
  readonly atMs: number;
  readonly name: string;
  /** The number of Nodes right before the deletion. */
  readonly nodes: number;
}

/**
 * Checks the limits of deletions that no terminated instance explains; they hold for every answer of the
 * cloud.
 */
export interface Deletions {
  /** Records a deletion and returns the limits that it breaks. */
  add(deletion: Deletion): readonly string[];
}

const TEN_MINUTES_MS = 600_000;
const DAY_MS = 86_400_000;

/**
 * Checks the brake's limits from the design: a fifth of the nodes (at least one) in ten minutes, a third in a
 * day, and never all.
 */
export function createDeletions(): Deletions {
  let kept: readonly Deletion[] = [];
  const within = (nowMs: number, windowMs: number, part: number): string | undefined => {
    const window = kept.filter(({ atMs }) => nowMs - atMs < windowMs);
    const most = Math.max(...window.map(({ nodes }) => nodes));
    const allowed = Math.max(1, Math.floor(most * part));
    if (window.length <= allowed) return undefined;
    const names = window.map(({ name }) => name).join(", ");
    return `${window.length} of ${most} nodes were deleted in ${windowMs / 60_000} minutes: ${names}`;
  };
  return {
    add(deletion) {
      const { atMs, nodes } = deletion;
      kept = [...kept.filter((each) => atMs - each.atMs < DAY_MS), deletion];
      const broken = [within(atMs, TEN_MINUTES_MS, 0.2), within(atMs, DAY_MS, 1 / 3)];
      if (nodes === 1) broken.push(`${deletion.name} was the last node`);
      return broken.filter((each) => each !== undefined);
    },
  };
}
