import { answerEndlessly, answerWith, beginAnswer, statusBody } from "#test/hostile/answers.ts";
import type { Attack } from "#test/hostile/attack.ts";
import { FIRST_HOSTILE_VERSION, hostilePage, watchLine } from "#test/hostile/hostile-nodes.ts";

/** Watches end with errors whose message has 7 MB. */
export const longErrors: Attack = () => {
  const line = Buffer.from(watchLine("ERROR", statusBody(500, "InternalError", "e".repeat(7_000_000))));
  return { answer: (call) => call.kind === "watch" && answerWith(call, line) };
};

/** The list's version has a megabyte: it is to come back in the path of the watch. */
export const hugeVersion: Attack = () => {
  const page = Buffer.from(hostilePage([], "9".repeat(1_000_000)));
  return { answer: (call) => call.kind === "list" && answerWith(call, page) };
};

/** The list's continue token has 4 MB, and so on. */
export const hugeToken: Attack = () => {
  const page = Buffer.from(hostilePage([], FIRST_HOSTILE_VERSION, "t".repeat(4_000_000)));
  return { answer: (call) => call.kind === "list" && answerWith(call, page) };
};

/** Every answer says to come back in thirty years. */
export const retryAfterForever: Attack = () => ({
  answer: (call) =>
    answerWith(call, statusBody(429, "TooManyRequests", "later"), {
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

/** Lists and watches come a byte in a while, and never to an end. */
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

/** Blank lines without end: not one event, and never silence. */
export const blankLines: Attack = () => {
  const piece = Buffer.alloc(65_536, "\n");
  return { answer: (call) => call.kind === "watch" && answerEndlessly(call, () => piece) };
};
