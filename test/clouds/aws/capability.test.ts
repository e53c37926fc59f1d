import { expect, test } from "vitest";
import { createBudget } from "#clouds/aws/budget.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import { type ClosableCapability, createLazyCapability } from "#clouds/lazy-capability.ts";
import type { CloudAction } from "#core/decision.ts";

const ACTION = { capability: "c", action: "a", target: "t" } as unknown as CloudAction;
const CALL = { signal: new AbortController().signal, share: 0.1 };

/** Counts the describes that the budget has for the invocations in it. */
function roomOf(budget: ReturnType<typeof createBudget>): number {
  let taken = 0;
  while (budget.take("DescribeSubnets") === undefined) taken += 1;
  return taken;
}

test("parallel calls of an invocation count its share once", () => {
  const budget = createBudget(() => 0);
  const enter = createInvocationShares(budget);
  const leave = [1, 2, 3].map(() => enter(CALL));
  expect(roomOf(budget)).toBe(10);
  for (const each of leave) each();
});

test("two invocations have the sum of their shares, until one of them leaves", () => {
  const clock = { ms: 0 };
  const budget = createBudget(() => clock.ms);
  const enter = createInvocationShares(budget);
  enter(CALL);
  const leave = enter({ signal: new AbortController().signal, share: 0.3 });
  expect(roomOf(budget)).toBe(40);
  leave();
  clock.ms += 60_000;
  expect(roomOf(budget)).toBe(10);
});

const WORKING: ClosableCapability = {
  observe: async (questions) => ({
    answers: questions.map(() => ({ kind: "observed", state: 1 })),
    usage: { calls: {}, throttled: 0, waitedMs: 0 },
  }),
  act: async () => ({
    answer: { kind: "done", result: {} },
    usage: { calls: {}, throttled: 0, waitedMs: 0 },
  }),
  close() {},
};

test("the capability is loaded once, when it is first used", async () => {
  let loads = 0;
  const capability = createLazyCapability(async () => {
    loads += 1;
    return WORKING;
  });
  capability.close();
  expect(loads).toBe(0);
  const results = await Promise.all([capability.observe([1, 2], CALL), capability.act(ACTION, CALL)]);
  expect(results[0].answers).toHaveLength(2);
  expect(results[1].answer.kind).toBe("done");
  expect(loads).toBe(1);
});

test("a capability that is still loading when it is closed is closed after loading", async () => {
  const loading = Promise.withResolvers<ClosableCapability>();
  let closed = 0;
  const capability = createLazyCapability(() => loading.promise);
  const observed = capability.observe([1], CALL);
  capability.close();
  const close = (): void => {
    closed += 1;
  };
  loading.resolve({ ...WORKING, close });
  await observed;
  expect(closed).toBe(1);
});

test("a loading failure is an error of each call, and the next call tries again", async () => {
  let fails = true;
  const capability = createLazyCapability(async () => {
    if (fails) throw new Error("no such file");
    return WORKING;
  });
  const { answers } = await capability.observe([1, 2], CALL);
  expect(answers).toEqual(
    [1, 2].map(() => ({
      kind: "error",
      code: "Invalid",
      message: "the capability cannot be loaded: no such file",
    })),
  );
  expect((await capability.act(ACTION, CALL)).answer).toMatchObject({ kind: "error", code: "Invalid" });
  fails = false;
  expect((await capability.act(ACTION, CALL)).answer.kind).toBe("done");
});
