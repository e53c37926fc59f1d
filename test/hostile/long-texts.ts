/** As long as all annotations of an object may be together. */
const LENGTH = 256 * 1024;

/** What is said over and over: each character that an expression of ours repeats, and pairs of them. */
const PUMPS = [
  ...[" ", "a", "A", "0", "-", ".", ",", "/", ":", "=", "\n", '"', "'", "_", "*", "\\", "%", "#", "é"],
  ...["a-", "a.", "0.", "a,", "a=", " ,", " #", "((", "[[", "-a", "//a"],
];

/** What stands before it: nothing, or what an expression that begins with `^` does not take. */
const STARTS = ["", "x"];

/** What keeps an expression from ending where the repetition does. */
const ENDS = ["!", "\n!", "a\n"];

/** One text for each repetition, for readers that are tried with many. */
export const SOME_LONG_TEXTS: readonly string[] = PUMPS.map(
  (pump) => `${pump.repeat(LENGTH / pump.length)}!`,
);

/** Texts on which a reader that goes back takes time in proportion to the square of their length, or to more. */
export const LONG_TEXTS: readonly string[] = PUMPS.flatMap((pump) =>
  STARTS.flatMap((start) => ENDS.map((end) => `${start}${pump.repeat(LENGTH / pump.length)}${end}`)),
);
