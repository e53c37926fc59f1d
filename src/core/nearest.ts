/** Longer words are not typing errors. */
const MAX_CHARACTERS = 64;

/**
 * Returns the word that was most likely meant: at most a third of its letters are missing, added, wrong or
 * swapped with their neighbours. Undefined if no word is that near.
 */
export function findNearest(written: string, words: readonly string[]): string | undefined {
  if (written.length > MAX_CHARACTERS) return undefined;
  const word = written.toLowerCase();
  let best: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of words) {
    const edits = countEdits(word, candidate.toLowerCase());
    if (edits > Math.max(1, Math.floor(candidate.length / 3)) || edits >= fewest) continue;
    best = candidate;
    fewest = edits;
  }
  return best;
}

/**
 * The minimum number of letters to remove, add, replace or swap with a neighbour that turns one word into the
 * other.
 */
function countEdits(one: string, other: string): number {
  let before: readonly number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      next.push(
        Math.min(
          getCell(last, column) + 1,
          getCell(next, column - 1) + 1,
          getCell(last, column - 1) + (isSame ? 0 : 1),
          isSwapped ? getCell(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    before = last;
    last = next;
  }
  return getCell(last, other.length);
}

/** The cell always exists: callers stay within the table. */
function getCell(row: readonly number[], column: number): number {
  return Number(row[column]);
}
