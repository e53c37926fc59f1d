/** The maximum length of an object's annotations together. */
const LENGTH = 256 * 1024;

/** The repeated parts: each character that an expression of ours repeats, and pairs of them. */
const PUMPS = [
  ...[" ", "a", "A", "0", "-", ".", ",", "/", ":", "=", "\n", '"', "'", "_", "*", "\\", "%", "#", "é"],
  ...["a-", "a.", "0.", "a,", "a=", " ,", " #", "((", "[[", "-a", "//a"],
];

/** The prefix: empty, or what an expression that begins with `^` rejects. */
const STARTS = ["", "x"];

/** What keeps an expression from ending with the repetition. */
const ENDS = ["!", "\n!", "a\n"];

/** One text for each repetition, for readers with many texts. */
export const SOME_LONG_TEXTS: readonly string[] = PUMPS.map(
  (pump) => `${pump.repeat(LENGTH / pump.length)}!`,
);

/** Texts on which a backtracking reader takes time proportional to the square of their length, or more. */
export const LONG_TEXTS: readonly string[] = PUMPS.flatMap((pump) =>
  STARTS.flatMap((start) => ENDS.map((end) => `${start}${pump.repeat(LENGTH / pump.length)}${end}`)),
);
