import * as z from "zod";
import type { Holding } from "#core/service/holdings.ts";

/** The mark that an audit writes on an orphan when deletion is enabled. */
export interface OrphanMark {
  /** When an audit first found the orphan. */
  readonly sinceMs: number;
  /** When its turn to be deleted begins. */
  readonly fromMs: number;
}

/**
 * Milliseconds from the mark to the turn. The audit of every Service runs at least once in this time. So the
 * actor that holds the load balancer for a living Service, such as another cluster with the same tag, removes
 * the mark first.
 */
export const NOTICE_MS = 15 * 60_000;

/**
 * How long a turn lasts, in milliseconds; turns follow one another. So two orphans never have the same turn,
 * whichever actor reads them. An orphan that misses its turn gets another one at the end.
 */
export const TURN_MS = 15 * 60_000;

/** Returns the text of a mark: an ISO 8601 interval, in characters that every cloud accepts in a tag. */
export function formatOrphanMark({ sinceMs, fromMs }: OrphanMark): string {
  return `${new Date(sinceMs).toISOString()}/${new Date(fromMs).toISOString()}`;
}

/** Parses the text of a mark; undefined if it is invalid. */
export function parseOrphanMark(text: string | undefined): OrphanMark | undefined {
  const read = Interval.safeParse(text?.split("/"));
  if (!read.success) return undefined;
  const [since, from] = read.data;
  return { sinceMs: Date.parse(since), fromMs: Date.parse(from) };
}

/** Returns whether a marked orphan may be deleted now: its turn has begun and is not over. */
export function isTurn({ fromMs }: OrphanMark, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs < fromMs + TURN_MS;
}

/** Returns whether the turn of a marked orphan is not over yet. */
export function isPending({ fromMs }: OrphanMark, nowMs: number): boolean {
  return nowMs < fromMs + TURN_MS;
}

/** Returns the marked orphan that may be deleted now: of several, the one whose turn began first. */
export function selectOldestMark<Marked extends Pick<Holding, "id" | "mark">>(
  holdings: readonly Marked[],
  nowMs: number,
): Marked | undefined {
  const candidates = holdings.flatMap((holding) => {
    const mark = parseOrphanMark(holding.mark);
    return mark !== undefined && isTurn(mark, nowMs) ? [{ holding, fromMs: mark.fromMs }] : [];
  });
  const [first] = candidates.toSorted(
    (one, other) => one.fromMs - other.fromMs || (one.holding.id < other.holding.id ? -1 : 1),
  );
  return first?.holding;
}

const Interval = z.tuple([z.iso.datetime(), z.iso.datetime()]);
