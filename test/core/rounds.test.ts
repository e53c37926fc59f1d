import { expect, test } from "vitest";
import { isLasting } from "#core/rounds.ts";

const MOMENT = { now: "2030-01-01T00:00:00.000Z", clock: "abc" };

test.each([
  [0, true],
  [60, true],
  [61, false],
  [-60, true],
  [-61, false],
])("a decision may use a moment of %s seconds ago: %s", (seconds, lasts) => {
  expect(isLasting(MOMENT, new Date(Date.parse(MOMENT.now) + seconds * 1_000))).toBe(lasts);
});
