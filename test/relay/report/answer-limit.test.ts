import { expect, test } from "vitest";
import type { Delivery } from "#relay/delivery/deliver.ts";
import { createAnswerLimit } from "#relay/report/answer-limit.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

const reported = (...objects: readonly (readonly [outcome: string, code: string])[]): Delivery =>
  ({
    invocation: {
      kind: "report",
      report: {
        objects: objects.map(([outcome, code]) => ({ outcome, because: { code, message: `said ${code}` } })),
      },
    },
  }) as unknown as Delivery;
const UNREAD = reported(["changed", "Initialized"], ["retry", "ClusterLimited"]);
const WRITTEN = reported(["changed", "Initialized"]);
const LEFT_ALONE = reported(["unchanged", "UpToDate"], ["retry", "Unavailable"]);
const FAILED = { invocation: { kind: "failed", code: "TimedOut" } } as unknown as Delivery;

const LIMIT = { limit: "answerBytes", message: "said ClusterLimited" };
const BEGUN = { kind: "answer-limited", ...LIMIT };
const recovered = (durationMs: number) => {
  return { kind: "recovered", resource: "nodes", limit: "answerBytes", durationMs };
};

test.each<[string, readonly Delivery[], readonly unknown[], readonly unknown[]]>([
  ["readable answers cause no note", [WRITTEN, LEFT_ALONE, FAILED], [], []],
  ["an answer that is not read is a limit", [UNREAD], [BEGUN], [LIMIT]],
  ["each such report counts", [UNREAD, UNREAD], [BEGUN, BEGUN], [LIMIT]],
  ["it stays in force until something is written", [UNREAD, LEFT_ALONE, FAILED], [BEGUN], [LIMIT]],
  ["and is over then, once", [UNREAD, UNREAD, WRITTEN, WRITTEN], [BEGUN, BEGUN, recovered(2_000)], []],
])("%s", async (_, deliveries, told, inForce) => {
  const clock = createManualClock();
  const all: unknown[] = [];
  const answers = createAnswerLimit(clock, (note) => all.push(note));
  for (const delivery of deliveries) {
    const each = answers.after(delivery, "nodes");
    if (each !== undefined) all.push(each);
    await clock.advance(1_000);
  }
  expect(all).toEqual(told);
  expect(answers.limited()).toEqual(inForce);
});

test("the limit ends a minute after the last such report if nothing is written any more", async () => {
  const clock = createManualClock();
  const told: unknown[] = [];
  const answers = createAnswerLimit(clock, (note) => told.push(note));
  answers.after(UNREAD, "nodes");
  await clock.advance(30_000);
  answers.after(UNREAD, "nodes");
  await clock.advance(59_999);
  expect([told, answers.limited()]).toEqual([[], [LIMIT]]);
  await clock.advance(1);
  expect([told, answers.limited()]).toEqual([[recovered(90_000)], []]);
});

test("reports nothing after it was closed", async () => {
  const clock = createManualClock();
  const notes: unknown[] = [];
  const answers = createAnswerLimit(clock, (note) => notes.push(note));
  answers.after(UNREAD, "nodes");
  answers.close();
  expect([answers.after(UNREAD, "nodes"), answers.after(WRITTEN, "nodes")]).toEqual([undefined, undefined]);
  await clock.advance(120_000);
  expect(notes).toEqual([]);
});
