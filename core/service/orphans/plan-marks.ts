import type { Holding } from "#core/service/holdings.ts";
import type { LoadBalancerAction, OrphanModel } from "#core/service/model.ts";
import type { FoundOrphans } from "#core/service/orphans/find-orphans.ts";
import {
  isPending,
  markOfText,
  NOTICE_MS,
  type OrphanMark,
  TURN_MS,
  writtenMark,
} from "#core/service/orphans/mark.ts";

/** Turns that are given out ahead; whoever comes later waits for one without a mark. */
export const MAX_TURNS = 20;

/** Marks that are taken off in one audit. */
const MAX_UNMARKED = 50;

/**
 * The marks that are to be written and taken off: off whatever is of a Service that lives, at any time; onto orphans only with proof.
 * One that has missed its turn gets another one behind all others.
 */
export function planMarks(
  { held, replaced, gone }: FoundOrphans,
  model: OrphanModel,
  { now, isProven }: { readonly now: Date; readonly isProven: boolean },
): readonly LoadBalancerAction[] {
  const nowMs = now.getTime();
  const unmark = [...held, ...replaced]
    .filter(({ mark }) => mark !== undefined)
    .slice(0, MAX_UNMARKED)
    .map((holding) => model.unmark(holding));
  if (!isProven) return unmark;
  const marked = gone.map((holding) => ({ holding, mark: markOfText(holding.mark) }));
  const pending = marked.flatMap(({ mark }) => (mark !== undefined && isPending(mark, nowMs) ? [mark] : []));
  const waiting = marked.filter(({ mark }) => mark === undefined || !isPending(mark, nowMs));
  let fromMs = Math.max(nowMs + NOTICE_MS, ...pending.map((mark) => mark.fromMs + TURN_MS));
  const mark = waiting.toSorted(inOrder).map(({ holding, mark: before }) => {
    const text = writtenMark({ sinceMs: before?.sinceMs ?? nowMs, fromMs });
    fromMs += TURN_MS;
    return model.mark(holding, text);
  });
  return [...unmark, ...mark.slice(0, Math.max(0, MAX_TURNS - pending.length))];
}

interface Marked {
  readonly holding: Holding;
  readonly mark: OrphanMark | undefined;
}

/** Those that were found first, and of these load balancers before what is left of others. */
function inOrder(one: Marked, other: Marked): number {
  const partOf = ({ holding }: Marked): number => (holding.isPart === undefined ? 0 : 1);
  return (
    (one.mark?.sinceMs ?? Number.POSITIVE_INFINITY) - (other.mark?.sinceMs ?? Number.POSITIVE_INFINITY) ||
    partOf(one) - partOf(other) ||
    (one.holding.id < other.holding.id ? -1 : 1)
  );
}
