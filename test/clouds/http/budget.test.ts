import { describe, expect, test } from "vitest";
import { type Budget, createBudget } from "#clouds/http/budget.ts";

const SILENT = { limit: undefined, remaining: undefined, resetMs: undefined, retryAfterMs: undefined };

const aBudget = (): { budget: Budget; pass(ms: number): void; takeAll(): number } => {
  let now = 0;
  const budget = createBudget({ burst: 50, refillPerSecond: 4 }, 500, () => now);
  return {
    budget,
    pass(ms) {
      now += ms;
    },
    /** Returns how many requests may go at once. */
    takeAll() {
      let count = 0;
      while (budget.take() === undefined) count += 1;
      return count;
    },
  };
};

test("a full bucket allows one burst, and fills again at its rate", () => {
  const { budget, pass, takeAll } = aBudget();
  expect(takeAll()).toBe(50);
  expect(budget.take()).toBe(250);
  pass(1000);
  expect(takeAll()).toBe(4);
  pass(3_600_000);
  expect(takeAll()).toBe(50);
});

describe("shares", () => {
  test.each([
    ["of one call limit its requests", [0.2], 10],
    ["of simultaneous calls add up", [0.2, 0.3], 25],
    ["of more than everything allow the whole bucket", [0.8, 0.8], 50],
    ["of nearly nothing allow one request", [0.005], 1],
  ])("%s", (_, shares, requests) => {
    const { budget, pass, takeAll } = aBudget();
    const leave = shares.map((share) => budget.enter(share));
    // One more call gains only the refill from then on.
    pass(60_000);
    expect(takeAll()).toBe(requests);
    for (const each of leave) each();
  });

  test("hold for the refill too, and end with the call", () => {
    const { budget, pass, takeAll } = aBudget();
    const leave = [budget.enter(0.5), budget.enter(0.25)];
    takeAll();
    leave[1]?.();
    pass(1000);
    expect(takeAll()).toBe(2);
  });
});

describe("the server's quota headers", () => {
  test.each<[string, Parameters<Budget["observe"]>, number | undefined]>([
    ["no headers: no wait", [SILENT, false], undefined],
    ["a throttle with retry-after: that long", [{ ...SILENT, retryAfterMs: 7_000 }, true], 7_000],
    [
      "a throttle with retry-after of an hour: a minute",
      [{ ...SILENT, retryAfterMs: 3_600_000 }, true],
      60_000,
    ],
    ["a throttle with a reset time: until then", [{ ...SILENT, resetMs: 12_000 }, true], 12_000],
    ["a throttle without a time: five seconds", [SILENT, true], 5_000],
    [
      "a throttle with retry-after 0: until the bucket has a token",
      [{ ...SILENT, retryAfterMs: 0 }, true],
      250,
    ],
    ["no remaining requests: until the reset", [{ ...SILENT, remaining: 0, resetMs: 9_000 }, false], 9_000],
    ["one remaining request: no wait", [{ ...SILENT, remaining: 1, resetMs: 9_000 }, false], undefined],
  ])("with %s", (_, said, wait) => {
    const { budget } = aBudget();
    budget.observe(...said);
    expect(budget.take()).toBe(wait);
  });

  test("never fill the bucket", () => {
    const { budget, takeAll } = aBudget();
    takeAll();
    budget.observe({ ...SILENT, limit: 5000, remaining: 4900 }, false);
    expect(takeAll()).toBe(0);
  });

  test.each([
    ["plenty", { ...SILENT, limit: 5000, remaining: 500, resetMs: 1000 }, false],
    ["little", { ...SILENT, limit: 5000, remaining: 499, resetMs: 1000 }, true],
    ["a tenth of a small quota", { ...SILENT, limit: 100, remaining: 10, resetMs: 1000 }, false],
    ["less than a tenth of a small quota", { ...SILENT, limit: 100, remaining: 9, resetMs: 1000 }, true],
    ["nothing", SILENT, false],
  ])("%s is low until the quota grows: %o", (_, said, isLow) => {
    const { budget, pass } = aBudget();
    budget.observe(said, false);
    expect(budget.isLow()).toBe(isLow);
    pass(1000);
    expect(budget.isLow()).toBe(false);
  });
});
