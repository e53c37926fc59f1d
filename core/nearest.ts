/** Longer words are nobody's slip of the finger. */
const MAX_CHARACTERS = 64;

/**
 * The one of the words that was most likely meant: at most a third of its letters were left out, added, exchanged or swapped with
 * their neighbours. Undefined where none is as near as that.
 */
export function nearest(written: string, words: readonly string[]): string | undefined {
  if (written.length > MAX_CHARACTERS) return undefined;
  const word = written.toLowerCase();
  let best: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of words) {
    const edits = editsBetween(word, candidate.toLowerCase());
    if (edits > Math.max(1, Math.floor(candidate.length / 3)) || edits >= fewest) continue;
    best = candidate;
    fewest = edits;
  }
  return best;
}

/** How many letters to leave out, add, exchange or swap with their neighbours turn one word into the other. */
function editsBetween(one: string, other: string): number {
  let before: readonly number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      next.push(
        Math.min(
          cell(last, column) + 1,
          cell(next, column - 1) + 1,
          cell(last, column - 1) + (isSame ? 0 : 1),
          isSwapped ? cell(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    before = last;
    last = next;
  }
  return cell(last, other.length);
}

/** The table has this cell: nobody asks beyond its edge. */
function cell(row: readonly number[], column: number): number {
  return Number(row[column]);
}
