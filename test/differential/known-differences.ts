import type { Difference } from "./snapshot.ts";

/** A deliberate difference: a row of a page of docs. */
export interface KnownDifference {
  /** The page, from the project's folder. */
  readonly page: string;
  /** The first cell of the row. */
  readonly row: string;
  covers(difference: Difference): boolean;
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [];

/** Returns the row that explains a difference, if any. */
export function findRow(difference: Difference): KnownDifference | undefined {
  return KNOWN_DIFFERENCES.find((known) => known.covers(difference));
}
