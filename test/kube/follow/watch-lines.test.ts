import { describe, expect, test } from "vitest";
import { createLineSplitter, LineTooLarge } from "#kube/follow/watch-window.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("createLineSplitter", () => {
  const text = '{"name":"knöten-€-𝒳"}\n{"a":1}\n\n{"b":2}\nrest';
  const whole = bytes(text);
  test.each(Array.from({ length: whole.length }, (_, cut) => ({ cut })))(
    "cut in two at byte $cut",
    ({ cut }) => {
      const split = createLineSplitter();
      const lines = [
        ...split(whole.subarray(0, cut)),
        ...split(whole.subarray(cut)),
        ...split(bytes("\n")),
      ].filter(Boolean);
      expect(lines).toEqual(['{"name":"knöten-€-𝒳"}', '{"a":1}', '{"b":2}', "rest"]);
    },
  );

  test("byte by byte", () => {
    const split = createLineSplitter();
    const lines = [...whole].flatMap((byte) => [...split(Uint8Array.of(byte))]).filter(Boolean);
    expect(lines).toEqual(['{"name":"knöten-€-𝒳"}', '{"a":1}', '{"b":2}']);
  });

  test.each([
    { given: "in one piece", pieces: ["12345678901\n"] },
    { given: "in several pieces", pieces: ["12345", "67890", "1"] },
    { given: "ended in the last piece", pieces: ["1234567890", "1\n"] },
  ])("a line over the limit, $given", ({ pieces }) => {
    const split = createLineSplitter(10);
    expect(() => pieces.forEach((piece) => void [...split(bytes(piece))])).toThrow(LineTooLarge);
  });

  test("lines as long as the limit pass, one after another", () => {
    const split = createLineSplitter(10);
    expect([...split(bytes("1234567890\nabcdefghij\n"))]).toEqual(["1234567890", "abcdefghij"]);
  });
});
