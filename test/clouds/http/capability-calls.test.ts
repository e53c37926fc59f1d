import { expect, test, vi } from "vitest";
import { answerInOrder, createCapabilityCalls } from "#clouds/http/capability-calls.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import type { Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { buildCall } from "#test/clouds/builders.ts";

const ACTION: CloudAction = {
  ...{ on: "cloud", capability: "c", action: "Make", target: "t", parameters: {} },
  precondition: { uid: "u", deleting: false },
};
const OBSERVED: Observation = { kind: "observed", state: 1 };
const ABORTED = { kind: "error", code: "Aborted", message: "aborted before a request to Somecloud" };
const HELD_BACK = expect.objectContaining({ kind: "error", code: "Throttled" });

/** Creates calls with a budget that shows the open shares. */
function aWorld({ isLow = false } = {}) {
  const open: number[] = [];
  const budget = {
    enter(share: number) {
      open.push(share);
      return () => {
        open.splice(open.indexOf(share), 1);
      };
    },
  };
  const enter = createInvocationShares(budget);
  const calls = createCapabilityCalls({ title: "Somecloud", enter, isHeldBack: () => isLow });
  return { open, calls };
}

const counted = async ({ meter }: CallContext) => {
  meter.called("List");
  return [OBSERVED, OBSERVED];
};

test("questions are answered together, within a share, and counted", async () => {
  const { open, calls } = aWorld();
  const seen: number[][] = [];
  const result = await calls.observe([1, 2], buildCall({ share: 0.3 }), async (turn) => {
    seen.push([...open]);
    return counted(turn);
  });
  expect(result).toEqual({
    answers: [OBSERVED, OBSERVED],
    usage: { calls: { List: 1 }, throttled: 0, waitedMs: 0 },
  });
  expect(seen).toEqual([[0.3]]);
  expect(open).toEqual([]);
});

test.each<[string, readonly unknown[], Parameters<typeof buildCall>[0], boolean, readonly unknown[]]>([
  ["there are no questions", [], {}, false, []],
  ["the call was aborted", [1, 2], { signal: AbortSignal.abort() }, false, [ABORTED, ABORTED]],
  ["little is left of the quota", [1, 2], {}, true, [HELD_BACK, HELD_BACK]],
])("no request is sent if %s", async (_, questions, traits, isLow, answers) => {
  const { calls } = aWorld({ isLow });
  const answer = vi.fn(counted);
  expect((await calls.observe(questions, buildCall(traits), answer)).answers).toEqual(answers);
  expect(answer).not.toHaveBeenCalled();
});

test("a thrown error is the answer to each question, and the share is closed", async () => {
  const { open, calls } = aWorld();
  const failed = { kind: "error", code: "Unavailable", message: "Somecloud: a defect" };
  const { answers } = await calls.observe([1, 2], buildCall(), () => Promise.reject(new Error("a defect")));
  expect(answers).toEqual([failed, failed]);
  expect(open).toEqual([]);
});

test("an action is done within a share, with any quota left, and its name is passed on", async () => {
  const { open, calls } = aWorld({ isLow: true });
  const result = await calls.act(ACTION, buildCall({ share: 0.3 }), async ({ meter }) => {
    meter.called("Make");
    expect(open).toEqual([0.3]);
    return { answer: { kind: "done", result: 7 }, requestId: "r-1" };
  });
  expect(result).toEqual({
    answer: { kind: "done", result: 7 },
    requestId: "r-1",
    usage: { calls: { Make: 1 }, throttled: 0, waitedMs: 0 },
  });
  expect(open).toEqual([]);
});

test("an action that is aborted before it begins is not done", async () => {
  const { calls } = aWorld();
  const perform = vi.fn(async () => ({ answer: { kind: "done" as const, result: null } }));
  const { answer } = await calls.act(ACTION, buildCall({ signal: AbortSignal.abort() }), perform);
  expect(answer).toEqual(ABORTED);
  expect(perform).not.toHaveBeenCalled();
});

test("an action that throws may have been done, and needs a new observation", async () => {
  const { open, calls } = aWorld();
  const { answer } = await calls.act(ACTION, buildCall(), () => Promise.reject(new Error("a defect")));
  expect(answer).toEqual({ kind: "error", code: "Unavailable", message: "Make: a defect" });
  expect(open).toEqual([]);
});

test("the actions of one invocation count its share once", async () => {
  const { open, calls } = aWorld();
  const call = buildCall({ share: 0.3 });
  const shares: number[][] = [];
  const all = [1, 2, 3].map(() =>
    calls.act(ACTION, call, async () => {
      await Promise.resolve();
      shares.push([...open]);
      return { answer: { kind: "done", result: null } };
    }),
  );
  await Promise.all(all);
  expect(shares).toEqual([[0.3], [0.3], [0.3]]);
  expect(open).toEqual([]);
});

test("in order, one question waits for the one before", async () => {
  const begun: unknown[] = [];
  const answers = await answerInOrder([2, 1], async (question) => {
    begun.push(question);
    await Promise.resolve();
    begun.push(`${question} done`);
    return { kind: "observed", state: question };
  });
  expect(begun).toEqual([2, "2 done", 1, "1 done"]);
  expect(answers).toEqual([
    { kind: "observed", state: 2 },
    { kind: "observed", state: 1 },
  ]);
});
