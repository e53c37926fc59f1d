/** One Node that we deleted. */
interface Deletion {
  readonly atMs: number;
  readonly name: string;
  /** How many Nodes there were right before. */
  readonly nodes: number;
}

/** What holds of our deletions that no terminated instance explains, whatever the cloud answers. */
export interface Deletions {
  /** Takes one down; answers with what it breaks. */
  add(deletion: Deletion): readonly string[];
}

const TEN_MINUTES_MS = 600_000;
const DAY_MS = 86_400_000;

/** The brake's bounds as the design has them: a fifth of the nodes, one at the least, in ten minutes, a third in a day, never all. */
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
