import { answerEndlessly, answerWith, beginAnswer, formatStatusBody } from "#test/adversarial/answers.ts";
import type { Attack } from "#test/adversarial/attack.ts";
import { FIRST_HOSTILE_VERSION, formatHostilePage, watchLine } from "#test/adversarial/hostile-nodes.ts";

/** Watches end with errors whose message has 7 MB. */
export const longErrors: Attack = () => {
  const line = Buffer.from(watchLine("ERROR", formatStatusBody(500, "InternalError", "e".repeat(7_000_000))));
  return { answer: (call) => call.kind === "watch" && answerWith(call, line) };
};

/** The list's version has a megabyte, which the path of the watch must contain. */
export const hugeVersion: Attack = () => {
  const page = Buffer.from(formatHostilePage([], "9".repeat(1_000_000)));
  return { answer: (call) => call.kind === "list" && answerWith(call, page) };
};

/** The list's continue token has 4 MB, on every page. */
export const hugeToken: Attack = () => {
  const page = Buffer.from(formatHostilePage([], FIRST_HOSTILE_VERSION, "t".repeat(4_000_000)));
  return { answer: (call) => call.kind === "list" && answerWith(call, page) };
};

/** Every answer asks for a retry in thirty years. */
export const retryAfterForever: Attack = () => ({
  answer: (call) =>
    answerWith(call, formatStatusBody(429, "TooManyRequests", "later"), {
      ":status": 429,
      "retry-after": "999999999",
    }),
});

/** Answers have headers of half a megabyte. */
export const headerFlood: Attack = () => {
  const headers = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`x-${index}`, "h".repeat(5_000)]),
  );
  return { answer: (call) => answerWith(call, "{}", headers) };
};

/** Lists and watches arrive byte by byte, and never end. */
export const slowDrip: Attack = ({ signal }) => ({
  answer(call) {
    if (call.kind !== "list" && call.kind !== "watch") return false;
    beginAnswer(call);
    const timer = setInterval(() => {
      if (call.stream.destroyed || signal.aborted) clearInterval(timer);
      else call.stream.write(" ");
    }, DRIP_MS);
    return true;
  },
});

const DRIP_MS = 5_000;

/** Endless blank lines: no event, and never silence. */
export const blankLines: Attack = () => {
  const piece = Buffer.alloc(65_536, "\n");
  return { answer: (call) => call.kind === "watch" && answerEndlessly(call, () => piece) };
};
