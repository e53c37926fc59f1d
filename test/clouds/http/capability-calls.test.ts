import { expect, test, vi } from "vitest";
import { createEntrance } from "#clouds/entrance.ts";
import type { Turn } from "#clouds/http/api.ts";
import { createCapabilityCalls, inOrder } from "#clouds/http/capability-calls.ts";
import type { Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { aCall } from "#test/clouds/builders.ts";

const ACTION: CloudAction = {
  ...{ on: "cloud", capability: "c", action: "Make", target: "t", parameters: {} },
  precondition: { uid: "u", deleting: false },
};
const OBSERVED: Observation = { kind: "observed", state: 1 };
const ABORTED = { kind: "error", code: "Aborted", message: "aborted before Somecloud was asked" };
const HELD_BACK = expect.objectContaining({ kind: "error", code: "Throttled" });

/** Calls with a budget that tells which shares are open. */
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
  const enter = createEntrance(budget);
  const calls = createCapabilityCalls({ title: "Somecloud", enter, isHeldBack: () => isLow });
  return { open, calls };
}

const counted = async ({ meter }: Turn) => {
  meter.called("List");
  return [OBSERVED, OBSERVED];
};

test("questions are answered together, within a share, and counted", async () => {
  const { open, calls } = aWorld();
  const seen: number[][] = [];
  const result = await calls.observe([1, 2], aCall({ share: 0.3 }), async (turn) => {
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

test.each<[string, readonly unknown[], Parameters<typeof aCall>[0], boolean, readonly unknown[]]>([
  ["there are no questions", [], {}, false, []],
  ["it was aborted", [1, 2], { signal: AbortSignal.abort() }, false, [ABORTED, ABORTED]],
  ["little is left of the quota", [1, 2], {}, true, [HELD_BACK, HELD_BACK]],
])("nobody is asked where %s", async (_, questions, traits, isLow, answers) => {
  const { calls } = aWorld({ isLow });
  const answer = vi.fn(counted);
  expect((await calls.observe(questions, aCall(traits), answer)).answers).toEqual(answers);
  expect(answer).not.toHaveBeenCalled();
});

test("what throws is an error of each question, and the share is closed", async () => {
  const { open, calls } = aWorld();
  const failed = { kind: "error", code: "Unavailable", message: "Somecloud: a defect" };
  const { answers } = await calls.observe([1, 2], aCall(), () => Promise.reject(new Error("a defect")));
  expect(answers).toEqual([failed, failed]);
  expect(open).toEqual([]);
});

test("an action is done within a share, however little is left, and what it was called is passed on", async () => {
  const { open, calls } = aWorld({ isLow: true });
  const result = await calls.act(ACTION, aCall({ share: 0.3 }), async ({ meter }) => {
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
  const { answer } = await calls.act(ACTION, aCall({ signal: AbortSignal.abort() }), perform);
  expect(answer).toEqual(ABORTED);
  expect(perform).not.toHaveBeenCalled();
});

test("an action that throws may have been done, and is looked at again", async () => {
  const { open, calls } = aWorld();
  const { answer } = await calls.act(ACTION, aCall(), () => Promise.reject(new Error("a defect")));
  expect(answer).toEqual({ kind: "error", code: "Unavailable", message: "Make: a defect" });
  expect(open).toEqual([]);
});

test("actions of one invocation have its share once", async () => {
  const { open, calls } = aWorld();
  const call = aCall({ share: 0.3 });
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
  const answers = await inOrder([2, 1], async (question) => {
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
