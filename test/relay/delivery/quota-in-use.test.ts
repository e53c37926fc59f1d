import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Budget, createBudget } from "#clouds/aws/budget.ts";
import type { Operation, Quota } from "#clouds/aws/quotas.ts";
import { createSession, type Session } from "#clouds/aws/session.ts";
import { createQuota } from "#relay/delivery/limiter-account.ts";
import { createThrottlingService, type ThrottlingService } from "#test/clouds/aws/throttling-service.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const now = (): number => performance.now();
const sleep = (delayMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, delayMs));

const SECONDS = 60;
const FLOOR = 0.05;

/** Concurrent invocations, Services in each, and how many of these are created at a time. */
const INVOCATIONS = 2;
const SERVICES = 24;
const LANES = 3;

/** The calls that create a Service with two ports. */
const CREATED: readonly Operation[] = [
  "elbv2:DescribeTags",
  "elbv2:CreateLoadBalancer",
  "elbv2:CreateTargetGroup",
  "elbv2:CreateTargetGroup",
  "elbv2:CreateListener",
  "elbv2:CreateListener",
  "elbv2:RegisterTargets",
  "elbv2:RegisterTargets",
];

function quotasOf(part: number) {
  const quota = (burst: number, refillPerSecond: number): Quota => ({
    burst: burst * part,
    refillPerSecond: refillPerSecond * part,
  });
  return {
    "elbv2 describing": quota(40, 10),
    "elbv2 changing": quota(40, 10),
    "elbv2 registering": quota(20, 4),
  };
}

/** The number of Services that the quotas allow within the time. */
const NEEDED = {
  changing: (part: number): number => ((40 + 10 * SECONDS) * part) / 5,
  registering: (part: number): number => ((20 + 4 * SECONDS) * part) / 2,
};

/** Repeats one call until it succeeds, as a controller's retries do. */
async function insist(session: Session<ThrottlingService>, operation: Operation): Promise<void> {
  for (;;) {
    const outcome = await session.sendOnce(operation, (api) => api.call(operation));
    if (outcome.kind === "ok") return;
    if (outcome.fault.thrown === undefined) await sleep(1_000);
  }
}

/**
 * Runs invocations one after another, each with its share of the account's quotas, in sandboxes that stay
 * warm.
 */
function invokeAgainAndAgain(
  service: ThrottlingService,
  budgets: readonly Budget[],
  part = 1,
): { readonly made: () => number } {
  const quota = createQuota(now(), () => part);
  const { signal } = new AbortController();
  let made = 0;
  const invoke = async (budget: Budget): Promise<void> => {
    const share = quota.begin(FLOOR, now());
    const leave = budget.enter(share);
    const session = createSession({ ec2: service, budget, sleep, signal });
    let begun = 0;
    const lane = async (): Promise<void> => {
      while (begun < SERVICES) {
        begun += 1;
        for (const operation of CREATED) await insist(session, operation);
        made += 1;
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    leave();
    const { throttled, waitedMs, calls } = session.getUsage();
    const sum = Object.values(calls).reduce((total, each) => total + each, 0);
    quota.end(share, FLOOR, { calls: sum, throttled, waitedMs }, now());
  };
  for (const budget of budgets)
    void (async () => {
      for (;;) await invoke(budget);
    })();
  return { made: () => made };
}

const sum = (counts: ThrottlingService["done"]): number =>
  [...counts.values()].reduce((total, each) => total + each, 0);

describe("creating Services for a minute, with two invocations at a time", () => {
  test.each([
    { given: "quotas as published", part: 1, jitterMs: 600, processes: 1 },
    { given: "a tenth that others spend", part: 0.9, jitterMs: 300, processes: 1 },
    { given: "half that others spend", part: 0.5, jitterMs: 300, processes: 1 },
    { given: "quotas as published and a sandbox for each", part: 1, jitterMs: 300, processes: 2 },
    { given: "a tenth that others spend and a sandbox for each", part: 0.9, jitterMs: 300, processes: 2 },
  ])("$given: uses four fifths of the quotas with few throttles", async (row) => {
    const { part, jitterMs, processes } = row;
    const quotas = quotasOf(part);
    const service = createThrottlingService({ quotas, jitterMs, now, sleep });
    const own = Array.from({ length: processes }, () => createBudget(now));
    const budgets = Array.from({ length: INVOCATIONS }, (_, index) => own[index % processes] as Budget);
    const { made } = invokeAgainAndAgain(service, budgets);
    await vi.advanceTimersByTimeAsync(SECONDS * 1_000);
    const most = Math.min(...Object.values(NEEDED).map((needs) => needs(part)));
    expect(made()).toBeGreaterThanOrEqual(0.8 * most);
    expect(sum(service.throttled)).toBeLessThanOrEqual(0.02 * sum(service.done));
  });
});

test("three replicas, each with a third of the quotas, use four fifths together, with at most one throttle in 25 calls", async () => {
  const service = createThrottlingService({ quotas: quotasOf(1), jitterMs: 300, now, sleep });
  const replicas = Array.from({ length: 3 }, () => {
    const budgets = Array.from({ length: INVOCATIONS }, () => createBudget(now));
    return invokeAgainAndAgain(service, budgets, 1 / 3);
  });
  await vi.advanceTimersByTimeAsync(SECONDS * 1_000);
  const most = Math.min(...Object.values(NEEDED).map((needs) => needs(1)));
  expect(replicas.reduce((total, { made }) => total + made(), 0)).toBeGreaterThanOrEqual(0.8 * most);
  // If each used all of them, it would be one in 14.
  expect(sum(service.throttled)).toBeLessThanOrEqual(sum(service.done) / 25);
});
