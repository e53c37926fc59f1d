import { expect, test } from "vitest";
import { splitIntoChunks } from "#core/chunks.ts";

test.each([
  { values: [], size: 2, chunks: [] },
  { values: ["a"], size: 2, chunks: [["a"]] },
  { values: ["a", "b", "c"], size: 2, chunks: [["a", "b"], ["c"]] },
  { values: new Set(["a", "b"]), size: 2, chunks: [["a", "b"]] },
  { values: ["a", "a", "b", "a"], size: 1, chunks: [["a"], ["b"]] },
])("splits $values into chunks of $size without duplicates", ({ values, size, chunks }) => {
  expect(splitIntoChunks<string>(values, size)).toEqual(chunks);
});
