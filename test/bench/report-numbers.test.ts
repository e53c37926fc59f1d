import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { logDomain, logScale, logTicks } from "#bench/report/log-scale.ts";
import { formatCount, formatMs, formatMsSpread, formatNumber, formatSpread } from "#bench/report/numbers.ts";
import { SEED } from "#test/seed.ts";

describe("numbers for people", () => {
  test.each([
    ["a count", formatCount(1_234_567), "1,234,567"],
    ["a small count", formatCount(7), "7"],
    ["the mean of two counts", formatCount(2_000.5), "2,000.5"],
    ["three digits", formatNumber(12_345), "12,300"],
    ["no digit that says nothing", formatNumber(1.2), "1.2"],
    ["a small number", formatNumber(0.012345), "0.0123"],
    ["zero", formatNumber(0), "0"],
    ["more digits on demand", formatNumber(1.15123, 4), "1.151"],
    ["milliseconds", formatMs(213.7), "214 ms"],
    ["a second", formatMs(1_000), "1 s"],
    ["what would round to 1,000 ms", formatMs(999.6), "1 s"],
    ["minutes in seconds", formatMs(1_234_567), "1,230 s"],
    ["a spread", formatSpread({ median: 412.3, min: 398, max: 430 }), "412 (398–430)"],
    [
      "a spread in the unit of its median",
      formatMsSpread({ median: 1_500, min: 900, max: 2_000 }),
      "1.5 s (0.9–2)",
    ],
    ["a spread that cannot be seen", formatSpread({ median: 33.001, min: 33, max: 33.002 }), "33"],
    ["a spread on one side", formatSpread({ median: 0, min: 0, max: 3 }, formatCount), "0 (0–3)"],
  ])("%s", (_, written, expected) => {
    expect(written).toBe(expected);
  });
});

describe("logarithmic axes", () => {
  test.each([
    ["within a decade", [130, 420], { from: 100, to: 500 }, [100, 200, 500]],
    ["on steps", [100, 500], { from: 100, to: 500 }, [100, 200, 500]],
    ["of one value", [70], { from: 50, to: 100 }, [50, 100]],
    ["of one step", [20], { from: 20, to: 50 }, [20, 50]],
    ["below one", [0.03, 0.4], { from: 0.02, to: 0.5 }, [0.02, 0.05, 0.1, 0.2, 0.5]],
    ["over more than three decades", [3, 40_000], { from: 2, to: 50_000 }, [10, 100, 1_000, 10_000]],
    ["besides what has no logarithm", [0, 3, 0], { from: 2, to: 5 }, [2, 5]],
  ])("%s", (_, values, domain, ticks) => {
    expect(logDomain(values)).toEqual(domain);
    expect(logTicks(domain)).toEqual(ticks);
  });

  test("no axis exists without positive values", () => {
    expect([logDomain([]), logDomain([0])]).toEqual([undefined, undefined]);
  });

  test("all ticks are between the ends, in order", () => {
    const positive = fc.double({ min: 1e-3, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(fc.array(positive, { minLength: 1, maxLength: 20 }), (values) => {
        const domain = logDomain(values) ?? { from: Number.NaN, to: Number.NaN };
        const places = values.toSorted((a, b) => a - b).map(logScale(domain, 10, 90));
        expect(places).toEqual(places.toSorted((a, b) => a - b));
        expect(places.filter((place) => !(place >= 10 && place <= 90 + 1e-9))).toEqual([]);
        expect(logTicks(domain).length).toBeGreaterThan(1);
      }),
      { seed: SEED },
    );
  });

  test("the ends of the domain are the ends of the axis, and equal factors have equal widths", () => {
    const x = logScale({ from: 10, to: 1_000 }, 100, 300);
    expect([x(10), x(100), x(1_000), x(1), x(5_000)]).toEqual([100, 200, 300, 100, 300]);
  });
});
