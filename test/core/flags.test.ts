import { describe, expect, test } from "vitest";
import { parseDurationSeconds } from "#core/flags.ts";

describe("parseDurationSeconds", () => {
  test("a duration without a finite number of seconds is malformed", () => {
    expect(parseDurationSeconds(`${"9".repeat(400)}h`)).toBeUndefined();
  });

  test.each([
    ["5m0s", 300],
    ["90s", 90],
    ["1h30m", 5400],
    ["1.5h", 5400],
    ["250ms", 0.25],
    ["0", 0],
    ["10us", 0.00001],
  ])("%s is %d s", (text, seconds) => {
    expect(parseDurationSeconds(text)).toBeCloseTo(seconds, 9);
  });

  test.each(["", "5", "-5m", "5 m", "m", "5x", "1e3s", "5m,"])("%j is no duration", (text) => {
    expect(parseDurationSeconds(text)).toBeUndefined();
  });
});
