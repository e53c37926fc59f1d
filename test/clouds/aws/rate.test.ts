import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createBudget } from "#clouds/aws/budget.ts";
import type { Operation } from "#clouds/aws/quotas.ts";
import { createSession } from "#clouds/aws/session.ts";
import { createThrottlingService, type ThrottlingService } from "./throttling-service.ts";

/** How long all sessions want more than the quota. */
const SECONDS = 60;

/** Tasks at a time that want tokens of one quota. */
const TASKS = 100;

const OPERATION: Operation = "elbv2:RegisterTargets";
const QUOTA = "elbv2 registering";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** According to AWS's own load balancer controller. */
const PUBLISHED = { burst: 20, refillPerSecond: 4 };

const sleep = (delayMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, delayMs));

const now = (): number => performance.now();

/** Spends from so many sessions of one process and one account, each with one task after the other. */
async function spend(service: ThrottlingService, budget: ReturnType<typeof createBudget>): Promise<void> {
  let isOver = false;
  const never = new AbortController().signal;
  const task = async (): Promise<void> => {
    const session = createSession({ ec2: service, budget, sleep, signal: never });
    while (!isOver) {
      const outcome = await session.sendOnce(OPERATION, (api) => api.call(OPERATION));
      // A task without a token comes back later.
      if (outcome.kind === "fault" && outcome.fault.thrown === undefined) await sleep(1_000);
    }
  };
  void Promise.all(Array.from({ length: TASKS }, task));
  await vi.advanceTimersByTimeAsync(SECONDS * 1_000);
  isOver = true;
}

describe("of a quota that is too small for all sessions", () => {
  test.each([
    { given: "as published", jitterMs: 0, quota: PUBLISHED, throttles: 0 },
    {
      given: "as published, with a delay of a second now and then",
      jitterMs: 1_000,
      quota: PUBLISHED,
      throttles: 0,
    },
    { given: "as published, on a busy machine", jitterMs: 3_000, quota: PUBLISHED, throttles: 0 },
    {
      given: "that is half of what is published",
      jitterMs: 300,
      quota: { burst: 10, refillPerSecond: 2 },
      // Eight more at the beginning, because the budget starts above the real quota.
      throttles: 8 + 6,
    },
    {
      given: "a quarter of which is left by others",
      jitterMs: 300,
      quota: { burst: 5, refillPerSecond: 1 },
      throttles: 13 + 9,
    },
  ])("$given, most is spent and little is throttled", async ({ jitterMs, quota, throttles }) => {
    const service = createThrottlingService({ quotas: { [QUOTA]: quota }, jitterMs, now, sleep });
    const budget = createBudget(now);
    const leave = budget.enter(1);
    await spend(service, budget);
    leave();
    const whole = quota.burst + quota.refillPerSecond * SECONDS;
    expect(service.done.get(QUOTA) ?? 0).toBeGreaterThanOrEqual(0.8 * whole);
    expect(service.throttled.get(QUOTA) ?? 0).toBeLessThanOrEqual(throttles);
  });
});
