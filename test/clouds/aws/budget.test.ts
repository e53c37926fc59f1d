import { expect, test } from "vitest";
import { createBudget } from "#clouds/aws/budget.ts";

function aBudget(...shares: number[]) {
  const clock = { ms: 0 };
  const budget = createBudget(() => clock.ms);
  const leave = shares.map((share) => budget.enter(share));
  const takeAll = (operation: "DescribeInstances" | "DescribeInstanceTopology") => {
    let taken = 0;
    while (budget.take(operation) === undefined) taken += 1;
    return taken;
  };
  return { clock, budget, leave, takeAll };
}

test.each([
  ["the whole", [1], 100],
  ["a quarter", [0.25], 25],
  ["two calls at once, half each", [0.5, 0.5], 100],
  ["more than there is", [1, 1, 1], 100],
  ["next to nothing", [0.001], 1],
])("a burst of DescribeInstances with %s", (_, shares, expected) => {
  expect(aBudget(...shares).takeAll("DescribeInstances")).toBe(expected);
});

test.each([
  ["the whole", 1, 20],
  ["a quarter", 0.25, 5],
])("the refill in a second with %s", (_, share, expected) => {
  const { clock, takeAll } = aBudget(share);
  takeAll("DescribeInstances");
  clock.ms += 1000;
  expect(takeAll("DescribeInstances")).toBe(expected);
});

test("DescribeInstanceTopology: one call at once, then one a second", () => {
  const { clock, budget, takeAll } = aBudget(1);
  expect(takeAll("DescribeInstanceTopology")).toBe(1);
  expect(budget.take("DescribeInstanceTopology")).toBe(1000);
  clock.ms += 1000;
  expect(takeAll("DescribeInstanceTopology")).toBe(1);
});

test("operations do not share a bucket", () => {
  const { budget, takeAll } = aBudget(1);
  takeAll("DescribeInstances");
  expect(budget.take("DescribeInstanceTopology")).toBeUndefined();
});

test("waiters are served in order of arrival, and calls without a place in the queue come after them", () => {
  const { clock, budget } = aBudget(1);
  expect(budget.take("DescribeInstanceTopology")).toBeUndefined();
  const [first, second, third] = [1, 2, 3].map(() => budget.reserve("DescribeInstanceTopology"));
  expect([third?.take(), first?.take(), second?.take()]).toEqual([3_000, 1_000, 2_000]);
  clock.ms += 1_000;
  expect([budget.take("DescribeInstanceTopology"), third?.take(), second?.take()]).toEqual([
    3_000, 2_000, 1_000,
  ]);
  expect(first?.take()).toBeUndefined();
  clock.ms += 1_000;
  expect(second?.take()).toBeUndefined();
  clock.ms += 1_000;
  expect(third?.take()).toBeUndefined();
});

test("a token is reserved for the first waiter, and is free for all when that one leaves", () => {
  const { clock, budget } = aBudget(1);
  budget.take("DescribeInstanceTopology");
  const [first, second] = [1, 2].map(() => budget.reserve("DescribeInstanceTopology"));
  clock.ms += 1_000;
  expect(second?.take()).toBe(1_000);
  first?.leave();
  expect(second?.take()).toBeUndefined();
});

test("a throttle empties the bucket and halves its rate, which soon returns near the old one and then grows slowly", () => {
  const { clock, budget, takeAll } = aBudget(1);
  budget.recordThrottle("DescribeInstances");
  const after = (seconds: number): number => {
    clock.ms += (seconds - 1) * 1_000;
    takeAll("DescribeInstances");
    clock.ms += 1_000;
    return takeAll("DescribeInstances");
  };
  expect([after(1), after(8), after(1), after(12)]).toEqual([10, 17, 18, 20]);
});

test("a throttle empties the bucket and halves its rate, which grows back within a minute", () => {
  const { clock, budget, takeAll } = aBudget(1);
  budget.recordThrottle("DescribeInstances");
  expect(takeAll("DescribeInstances")).toBe(0);
  clock.ms += 1000;
  expect(takeAll("DescribeInstances")).toBe(10);
  clock.ms += 60_000;
  takeAll("DescribeInstances");
  clock.ms += 1000;
  expect(takeAll("DescribeInstances")).toBe(20);
});

test("throttles of one moment count once, later ones again, down to a sixteenth of the rate", () => {
  const { clock, budget, takeAll } = aBudget(1);
  for (let times = 0; times < 50; times += 1) budget.recordThrottle("DescribeInstances");
  clock.ms += 1000;
  expect(takeAll("DescribeInstances")).toBe(10);
  for (let times = 0; times < 50; times += 1) {
    budget.recordThrottle("DescribeInstances");
    clock.ms += 1000;
  }
  budget.recordThrottle("DescribeInstances");
  clock.ms += 1000;
  expect(takeAll("DescribeInstances")).toBe(1);
});

test("a call that ends gives up its share", () => {
  const { clock, leave, takeAll } = aBudget(0.5, 0.25);
  takeAll("DescribeInstances");
  leave[0]?.();
  clock.ms += 1000;
  expect(takeAll("DescribeInstances")).toBe(5);
});
