import { describe, expect, test } from "vitest";
import {
  computeInvocationCost,
  type FunctionRates,
  getBilledMs,
  interpolateInvocation,
  MB_PER_VCPU,
  multiplyCost,
} from "#bench/cost/bill.ts";
import { buildInvocation, buildMeasured, buildPrices } from "#test/bench/cost/builders.ts";

describe("billed milliseconds", () => {
  test.each([
    ["nothing", [], 512, 0],
    ["waiting alone takes as long anywhere", [{ wallMs: 80, cpuMs: 0 }], 128, 80],
    ["a part of a millisecond is a whole one", [{ wallMs: 80.1, cpuMs: 0 }], 128, 81],
    // 0.1 + 0.2 is 0.30000000000000004 in binary: still 1 ms with 0.7, not 2.
    [
      "errors of binary fractions do not count",
      [
        { wallMs: 0.1, cpuMs: 0 },
        { wallMs: 0.2, cpuMs: 0 },
        { wallMs: 0.7, cpuMs: 0 },
      ],
      128,
      1,
    ],
    ["one vCPU's memory: as on the clock", [{ wallMs: 80, cpuMs: 30 }], MB_PER_VCPU, 80],
    ["more memory than that is no faster", [{ wallMs: 80, cpuMs: 30 }], 2 * MB_PER_VCPU, 80],
    // 70 waiting, 10 CPU at a quarter of a vCPU: 70 + 40.
    ["a quarter of it: CPU takes four times as long", [{ wallMs: 80, cpuMs: 10 }], MB_PER_VCPU / 4, 110],
    // Two threads on two cores: 90 ms of CPU in 60 ms; one vCPU needs 90, half of one 180.
    ["more CPU than time: nothing waited", [{ wallMs: 60, cpuMs: 90 }], MB_PER_VCPU / 2, 180],
    // 100.4 + 100.4 = 200.8: rounded once, not 101 + 101.
    [
      "rounded up once for all parts",
      [
        { wallMs: 100.4, cpuMs: 0 },
        { wallMs: 100.4, cpuMs: 0 },
      ],
      128,
      201,
    ],
  ])("%s", (_given, timings, memoryMB, expected) => {
    expect(getBilledMs(timings, memoryMB)).toBe(expected);
  });
});

describe("sizes that were not measured", () => {
  const measured = [
    buildInvocation(1, 100, 10),
    buildInvocation(21, 300, 30),
    buildInvocation(100, 1_090, 40),
  ];

  test.each([
    ["measured: as it is", 21, 300, 30],
    ["half way from 1 to 21", 11, 200, 20],
    // A tenth of the way from 1 to 21: 100 + 20, 10 + 2.
    ["a part of a node", 3, 120, 12],
    ["the largest", 100, 1_090, 40],
    ["beyond: like the largest", 200, 1_090, 40],
    ["before: like the smallest", 0.5, 100, 10],
  ])("%s", (_given, nodes, wallMs, cpuMs) => {
    const { warm, cold, nodes: said } = interpolateInvocation(measured, nodes);
    expect({ said, ...warm }).toEqual({ said: nodes, wallMs, cpuMs });
    expect(cold).toEqual({ wallMs: 10 * wallMs, cpuMs: 10 * cpuMs });
  });

  test("logs and calls are interpolated as well", () => {
    const small = { ...buildInvocation(1, 100), logLines: 2, logBytes: 1_000 };
    const large = { ...buildInvocation(101, 100), logLines: 102, logBytes: 61_000, cloudCalls: 3 };
    // Half way: lines 2 → 102, bytes 1,000 → 61,000, calls 1 → 3.
    expect(interpolateInvocation([small, large], 51)).toMatchObject({
      logLines: 52,
      logBytes: 31_000,
      cloudCalls: 2,
    });
  });

  test("rejects an empty list of measurements", () => {
    expect(() => interpolateInvocation([], 1)).toThrow(RangeError);
  });
});

describe("an invocation", () => {
  const rates: FunctionRates = {
    measured: buildMeasured(),
    prices: buildPrices(),
    architecture: "arm64",
    coldShare: 0,
  };

  test.each([
    // 0.1 s × 1 GB × $0.01 + $0.001.
    ["warm", "initialize", 1, {}, 0.002],
    // 1 s to start and 1 s for the first event: 2 s × $0.01 + $0.001.
    ["cold", "initialize", 1, { coldShare: 1 }, 0.021],
    // A quarter of 2 s and three quarters of 0.1 s: 0.575 s × $0.01 + $0.001.
    ["a quarter of them cold", "initialize", 1, { coldShare: 0.25 }, 0.00675],
    // 1.09 s × $0.01 + $0.001.
    ["a full batch", "initialize", 100, {}, 0.0119],
    // 0.05 s × $0.01 + $0.001.
    ["a look", "look", 1, {}, 0.0015],
    // 0.1 s × $0.02 + $0.001.
    ["on the other architecture", "initialize", 1, { architecture: "x86_64" }, 0.003],
    // Half the memory: 0.1 s × 0.5 GB × $0.01 + $0.001.
    ["with half the memory", "initialize", 1, { measured: buildMeasured({ memoryMB: 512 }) }, 0.0015],
  ] as const)("%s", (_given, kind, nodes, difference, expected) => {
    expect(computeInvocationCost(kind, nodes, { ...rates, ...difference }).computeUsd).toBeCloseTo(
      expected,
      12,
    );
  });

  test.each([
    // Lambda's own 3 lines: 320 + 3 × 26 = 398 bytes, at $1,000 for 10⁹.
    ["that logs nothing itself", 0, 0, 0.000398],
    // 2 lines more: 1,202 + 320 + 5 × 26 = 1,652 bytes.
    ["that logs two lines", 2, 1_202, 0.001652],
  ])("the log of one %s", (_given, logLines, logBytes, expected) => {
    const initialize = [{ ...buildInvocation(1, 100), logLines, logBytes }];
    const measured = buildMeasured({ initialize });
    expect(computeInvocationCost("initialize", 1, { ...rates, measured }).logsUsd).toBeCloseTo(expected, 12);
  });

  test("many cost proportionally more", () => {
    expect(multiplyCost(3, { computeUsd: 2, logsUsd: 0.5 })).toEqual({ computeUsd: 6, logsUsd: 1.5 });
  });
});
