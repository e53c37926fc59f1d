import * as z from "zod";
import type { Holding } from "#core/service/holdings.ts";

/** What an audit writes on an orphan, where the operator has it deleted. */
export interface OrphanMark {
  /** When it was first found. */
  readonly sinceMs: number;
  /** When its turn begins to be deleted. */
  readonly fromMs: number;
}

/**
 * Milliseconds from the mark to the turn. Longer than the audit of every Service takes to come by: whoever holds a load balancer for
 * one that lives, be it another cluster of the same tag, takes the mark off before.
 */
export const NOTICE_MS = 15 * 60_000;

/**
 * How long a turn lasts; turns follow one another. So no two orphans have theirs at the same time, whoever looks and however often, and what
 * has missed its own gets another one at the end.
 */
export const TURN_MS = 15 * 60_000;

/** The text of a mark, as an interval of ISO 8601; of letters that any cloud takes in a tag. */
export function writtenMark({ sinceMs, fromMs }: OrphanMark): string {
  return `${new Date(sinceMs).toISOString()}/${new Date(fromMs).toISOString()}`;
}

/** Reads the text of a mark; undefined where it is none. */
export function markOfText(text: string | undefined): OrphanMark | undefined {
  const read = Interval.safeParse(text?.split("/"));
  if (!read.success) return undefined;
  const [since, from] = read.data;
  return { sinceMs: Date.parse(since), fromMs: Date.parse(from) };
}

/** Whether it is the turn of what is marked so. */
export function isTurn({ fromMs }: OrphanMark, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs < fromMs + TURN_MS;
}

/** Whether its turn is still to come, or has come and is not over. */
export function isPending({ fromMs }: OrphanMark, nowMs: number): boolean {
  return nowMs < fromMs + TURN_MS;
}

/** Of several, the one whose turn it is by its mark: the first of those that were marked at the same time. */
export function inTurn<Marked extends Pick<Holding, "id" | "mark">>(
  holdings: readonly Marked[],
  nowMs: number,
): Marked | undefined {
  const candidates = holdings.flatMap((holding) => {
    const mark = markOfText(holding.mark);
    return mark !== undefined && isTurn(mark, nowMs) ? [{ holding, fromMs: mark.fromMs }] : [];
  });
  const [first] = candidates.toSorted(
    (one, other) => one.fromMs - other.fromMs || (one.holding.id < other.holding.id ? -1 : 1),
  );
  return first?.holding;
}

const Interval = z.tuple([z.iso.datetime(), z.iso.datetime()]);
