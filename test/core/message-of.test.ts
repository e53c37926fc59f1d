import { expect, test } from "vitest";
import { messageOf } from "#core/message-of.ts";

test.each([
  ["an error", new Error("it broke"), "it broke"],
  ["a text", "it broke", "it broke"],
  ["nothing", undefined, "undefined"],
])("the words of %s", (_, thrown, words) => {
  expect(messageOf(thrown)).toBe(words);
});
