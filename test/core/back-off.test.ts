import { expect, test } from "vitest";
import { getBackOffMs } from "#core/back-off.ts";

test.each([
  { doublings: 0, delayMs: 250 },
  { doublings: 1, delayMs: 500 },
  { doublings: 3, delayMs: 2_000 },
  { doublings: 7, delayMs: 30_000 },
  { doublings: 100_000, delayMs: 30_000 },
])("$doublings doublings of 250 ms up to 30 s are $delayMs ms", ({ doublings, delayMs }) => {
  expect(getBackOffMs({ baseMs: 250, limitMs: 30_000 }, doublings)).toBe(delayMs);
});
