import { expect, test } from "vitest";
import { getErrorMessage } from "#core/sanitize-text.ts";

test.each([
  ["an error", new Error("it broke"), "it broke"],
  ["a text", "it broke", "it broke"],
  ["nothing", undefined, "undefined"],
])("returns the message of %s", (_, thrown, words) => {
  expect(getErrorMessage(thrown)).toBe(words);
});
