import { expect, test } from "vitest";
import { createBudget } from "#clouds/aws/budget.ts";
import { createEntrance } from "#clouds/entrance.ts";
import { type ClosableCapability, loadedCapability } from "#clouds/loaded-capability.ts";
import type { CloudAction } from "#core/decision.ts";

const ACTION = { capability: "c", action: "a", target: "t" } as unknown as CloudAction;
const CALL = { signal: new AbortController().signal, share: 0.1 };

/** So many describes the budget has for those inside. */
function roomOf(budget: ReturnType<typeof createBudget>): number {
  let taken = 0;
  while (budget.take("DescribeSubnets") === undefined) taken += 1;
  return taken;
}

test("what an invocation asks and does side by side has its share once", () => {
  const budget = createBudget(() => 0);
  const enter = createEntrance(budget);
  const leave = [1, 2, 3].map(() => enter(CALL));
  expect(roomOf(budget)).toBe(10);
  for (const each of leave) each();
});

test("two invocations have the sum of their shares, until one of them has left", () => {
  const clock = { ms: 0 };
  const budget = createBudget(() => clock.ms);
  const enter = createEntrance(budget);
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

test("it is loaded once, when it is first used", async () => {
  let loads = 0;
  const capability = loadedCapability(async () => {
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

test("what is still being loaded when it is closed is closed then", async () => {
  const loading = Promise.withResolvers<ClosableCapability>();
  let closed = 0;
  const capability = loadedCapability(() => loading.promise);
  const observed = capability.observe([1], CALL);
  capability.close();
  const close = (): void => {
    closed += 1;
  };
  loading.resolve({ ...WORKING, close });
  await observed;
  expect(closed).toBe(1);
});

test("what fails to load is an error of each, and is tried again", async () => {
  let fails = true;
  const capability = loadedCapability(async () => {
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
