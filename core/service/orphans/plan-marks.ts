import type { Holding } from "#core/service/holdings.ts";
import type { LoadBalancerAction, OrphanModel } from "#core/service/model.ts";
import type { FoundOrphans } from "#core/service/orphans/find-orphans.ts";
import {
  formatOrphanMark,
  isPending,
  NOTICE_MS,
  type OrphanMark,
  parseOrphanMark,
  TURN_MS,
} from "#core/service/orphans/mark.ts";

/** The maximum number of turns assigned ahead; later orphans wait without a mark. */
export const MAX_TURNS = 20;

/** The maximum number of marks that one audit removes. */
const MAX_UNMARKED = 50;

/**
 * Returns the marks to write and to remove. Marks on holdings of living Services are removed at any time;
 * orphans are marked only with proof. An orphan that missed its turn gets another one behind all others.
 */
export function planMarks(
  { retained, replaced, gone }: FoundOrphans,
  model: OrphanModel,
  { now, isProven }: { readonly now: Date; readonly isProven: boolean },
): readonly LoadBalancerAction[] {
  const nowMs = now.getTime();
  const unmark = [...retained, ...replaced]
    .filter(({ mark }) => mark !== undefined)
    .slice(0, MAX_UNMARKED)
    .map((holding) => model.unmark(holding));
  if (!isProven) return unmark;
  const marked = gone.map((holding) => ({ holding, mark: parseOrphanMark(holding.mark) }));
  const pending = marked.flatMap(({ mark }) => (mark !== undefined && isPending(mark, nowMs) ? [mark] : []));
  const waiting = marked.filter(({ mark }) => mark === undefined || !isPending(mark, nowMs));
  let fromMs = Math.max(nowMs + NOTICE_MS, ...pending.map((mark) => mark.fromMs + TURN_MS));
  const mark = waiting.toSorted(compareMarked).map(({ holding, mark: before }) => {
    const text = formatOrphanMark({ sinceMs: before?.sinceMs ?? nowMs, fromMs });
    fromMs += TURN_MS;
    return model.mark(holding, text);
  });
  return [...unmark, ...mark.slice(0, Math.max(0, MAX_TURNS - pending.length))];
}

interface MarkedHolding {
  readonly holding: Holding;
  readonly mark: OrphanMark | undefined;
}

/** First by discovery time, then load balancers before parts. */
function compareMarked(one: MarkedHolding, other: MarkedHolding): number {
  const partOf = ({ holding }: MarkedHolding): number => (holding.isPart === undefined ? 0 : 1);
  return (
    (one.mark?.sinceMs ?? Number.POSITIVE_INFINITY) - (other.mark?.sinceMs ?? Number.POSITIVE_INFINITY) ||
    partOf(one) - partOf(other) ||
    (one.holding.id < other.holding.id ? -1 : 1)
  );
}
