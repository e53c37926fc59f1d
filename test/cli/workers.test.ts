import { describe, expect, test } from "vitest";
import { readWorkers } from "#cli/relay/relay-worker-data.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";

describe("workers", () => {
  test.each([
    [0, 1],
    [1, 1],
    [50, 1],
    [51, 2],
    [100, 2],
    [200, 4],
    [201, 5],
    [800, 10],
    [10_000, 16],
  ])("of %i clusters by default: %i", (clusters, workers) => {
    expect(readWorkers(undefined, [])?.(clusters)).toBe(workers);
  });

  test("are as many as the flag says, for any number of clusters", () => {
    expect([1, 1_000].map((clusters) => readWorkers("3", [])?.(clusters))).toEqual([3, 3]);
  });

  test("can be disabled", () => {
    expect(readWorkers("0", [])).toBeUndefined();
  });

  test.each(["many", "", "-1", "1.5", "65", "9999"])("are not %j", (text) => {
    const faults: ConfigurationFault[] = [];
    readWorkers(text, faults);
    expect(faults).toMatchObject([{ name: "--workers", message: expect.stringContaining("0 (none) to 64") }]);
  });
});
