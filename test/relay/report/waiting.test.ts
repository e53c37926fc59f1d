import { expect, test } from "vitest";
import type { ObjectReport } from "#core/report.ts";
import type { ApiObject } from "#core/watch.ts";
import { createWaiting, type WaitingCount, type WaitingObjects } from "#relay/report/waiting.ts";
import type { Settlement } from "#relay/work/types.ts";

interface Marked extends ApiObject {
  readonly waits: boolean;
}

const START_MS = Date.parse("2026-01-01T00:00:00Z");
const RULE = { isWaiting: (object: ApiObject) => (object as Marked).waits };
const REFUSED: Settlement = { kind: "refused" };
const LOST: Settlement = { kind: "failed", settleMs: 0 };

type Counted = Omit<WaitingCount, "oldest">;
type Step = (waiting: WaitingObjects, nowMs: number) => void;

const shown =
  (waits: boolean, isKnown = false, creationTimestamp = "2026-01-01T00:00:00Z", uid = "uid-a"): Step =>
  (waiting, nowMs) =>
    waiting.shown(
      {
        snapshot: { waits, metadata: { name: uid, uid, resourceVersion: "1", creationTimestamp } } as Marked,
        isKnown,
      },
      nowMs,
      new Date(nowMs),
    );
const settled =
  (settlement: Settlement, code?: string): Step =>
  (waiting) =>
    waiting.settled("uid-a", settlement, code);
const reported = (outcome: ObjectReport["outcome"], code: string): Step =>
  settled({ kind: "report", report: { index: 0, outcome, because: { code, message: "" } } });
const gone: Step = (waiting) => waiting.forget("uid-a");

test.each<[string, readonly Step[], number, readonly Counted[]]>([
  ["is counted", [shown(true)], 0, [{ reason: "Waiting", age: "lt1m", count: 1 }]],
  ["that does not wait is not", [shown(false)], 0, []],
  ["is counted by why it is due again", [shown(true), reported("retry", "A")], 0, [of("A", "lt1m")]],
  ["is counted by why it was skipped", [shown(true), reported("skipped", "A")], 0, [of("A", "lt1m")]],
  [
    "is counted by the last report",
    [shown(true), reported("retry", "A"), reported("retry", "B")],
    0,
    [of("B", "lt1m")],
  ],
  [
    "that was done waits for the watch",
    [shown(true), reported("retry", "A"), reported("changed", "Initialized")],
    0,
    [of("Waiting", "lt1m")],
  ],
  [
    "keeps its reason while it is shown again",
    [shown(true), reported("retry", "A"), shown(true, true)],
    0,
    [of("A", "lt1m")],
  ],
  [
    "is counted by the code of an invocation that failed",
    [shown(true), settled(LOST, "TimedOut")],
    0,
    [of("TimedOut", "lt1m")],
  ],
  ["that a report does not name", [shown(true), settled(LOST)], 0, [of("NotNamed", "lt1m")]],
  [
    "is counted by the code of a refusal",
    [shown(true), settled(REFUSED, "Throttled")],
    0,
    [of("Throttled", "lt1m")],
  ],
  ["is not counted once it is done", [shown(true), reported("retry", "A"), shown(false, true)], 0, []],
  ["is not counted once it is gone", [shown(true), gone], 0, []],
  ["that does not wait is not counted after a report", [reported("retry", "A")], 0, []],
  ["of almost a minute", [shown(true)], 59_999, [of("Waiting", "lt1m")]],
  ["of a minute", [shown(true)], 60_000, [of("Waiting", "lt10m")]],
  ["of ten minutes", [shown(true)], 600_000, [of("Waiting", "ge10m")]],
  ["that is older than the relay", [shown(true, false, "2025-12-31T23:00:00Z")], 0, [of("Waiting", "ge10m")]],
  ["from the future", [shown(true, false, "2027-01-01T00:00:00Z")], 0, [of("Waiting", "lt1m")]],
  ["of an unreadable age", [shown(true, false, "soon")], 0, [of("Waiting", "lt1m")]],
  [
    "that was done before waits again",
    [shown(false, false, "2025-12-31T00:00:00Z"), shown(true, true, "2025-12-31T00:00:00Z")],
    0,
    [of("Waiting", "lt1m")],
  ],
  [
    "among others of its kind",
    [shown(true), shown(true, false, undefined, "uid-b"), reported("retry", "A")],
    0,
    [of("A", "lt1m"), of("Waiting", "lt1m")],
  ],
])("an object %s", (_, steps, laterMs, expected) => {
  const waiting = createWaiting(RULE);
  for (const step of steps) step(waiting, START_MS);
  expect(
    waiting
      .counts(START_MS + laterMs, new Date(START_MS + laterMs))
      .map(({ oldest: _, ...counted }) => counted),
  ).toEqual(expected);
});

test.each<[string, readonly Step[], WaitingCount["oldest"]]>([
  [
    "the one that has waited longest, whichever came first",
    [
      shown(true, false, "2025-12-31T23:59:30Z", "uid-b"),
      shown(true, false, "2025-12-31T23:59:10Z"),
      shown(true, false, "2025-12-31T23:59:20Z", "uid-c"),
    ],
    { name: "uid-a", sinceMs: START_MS - 50_000 },
  ],
  [
    "its own time if it is from the future",
    [shown(true, false, "2027-01-01T00:00:00Z")],
    { name: "uid-a", sinceMs: START_MS },
  ],
])("names %s", (_, steps, expected) => {
  const waiting = createWaiting(RULE);
  for (const step of steps) step(waiting, START_MS);
  expect(waiting.counts(START_MS, new Date(START_MS)).map(({ oldest }) => oldest)).toEqual([expected]);
});

test("an object waits since the time of its rule, and is named with its namespace", () => {
  const waiting = createWaiting({ ...RULE, since: () => "2025-12-31T23:00:00Z" });
  const metadata = {
    name: "web",
    namespace: "shop",
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: "2020-01-01T00:00:00Z",
  };
  waiting.shown(
    { snapshot: { waits: true, metadata } as Marked, isKnown: false },
    START_MS,
    new Date(START_MS),
  );
  expect(waiting.counts(START_MS, new Date(START_MS))).toEqual([
    { ...of("Waiting", "ge10m"), oldest: { name: "shop/web", sinceMs: START_MS - 3_600_000 } },
  ]);
});

test("no object waits without a rule", () => {
  const waiting = createWaiting(undefined);
  shown(true)(waiting, START_MS);
  expect(waiting.counts(START_MS, new Date(START_MS))).toEqual([]);
});

function of(reason: string, age: WaitingCount["age"]): Counted {
  return { reason, age, count: 1 };
}

test("a step of the clock does not change how long an object has waited, and its time follows the new clock", () => {
  const waiting = createWaiting(RULE);
  shown(true)(waiting, START_MS);
  const stepped = new Date(START_MS + 30_000 - 3_600_000);
  expect(waiting.counts(START_MS + 30_000, stepped)).toEqual([
    { ...of("Waiting", "lt1m"), oldest: { name: "uid-a", sinceMs: stepped.getTime() - 30_000 } },
  ]);
});
