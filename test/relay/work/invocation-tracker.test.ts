import { describe, expect, test } from "vitest";
import {
  buildChangedSettlement,
  buildDoneFields,
  buildReportSettlement,
  buildRetrySettlement,
  createPendingNodes,
  findReadyTime,
  getDoneFingerprint,
  listReadyUids,
  listReadyVersions,
  show,
  WAITING,
} from "#test/relay/work/pending-builders.ts";

/** Creates nodes that became ready one millisecond after another, the first one at 0. */
function waiting(...uids: readonly string[]) {
  const pending = createPendingNodes();
  for (const [index, uid] of uids.entries()) show(pending, index + 1, WAITING, index, uid);
  return pending;
}

describe("an invocation that the platform refused", () => {
  test("returns its objects to the front of their queue, together and with their waiting time", () => {
    const pending = waiting("a", "b", "c", "d");
    pending.start(["a", "b"], 1, 10);
    pending.settle(1, [{ kind: "refused" }, { kind: "refused" }], 500);
    expect(listReadyUids(pending)).toEqual(["a", "b", "c", "d"]);
    expect([...pending.ready("work")].map(({ sinceMs, again }) => [sinceMs, again])).toEqual([
      [0, false],
      [1, false],
      [2, false],
      [3, false],
    ]);
    expect([pending.queue("work"), pending.counts()]).toEqual([
      { ready: 4, oldestMs: 0, newestMs: 3 },
      { objects: 4, needed: 4, inFlight: 0, due: { work: 4, look: 0 } },
    ]);
  });

  test("counts as no failure, however often", () => {
    const pending = waiting("a");
    for (let invocation = 1; invocation < 10; invocation += 1) {
      pending.start(["a"], invocation, invocation);
      pending.settle(invocation, [{ kind: "refused" }], invocation);
    }
    pending.start(["a"], 10, 10);
    pending.settle(10, [{ kind: "failed", settleMs: 0 }], 10);
    expect(findReadyTime(pending)?.atMs).toBeLessThan(400);
  });

  test("is followed by objects in their newest state, and not by those that are done meanwhile", () => {
    const pending = waiting("a", "b", "c");
    pending.start(["a", "b", "c"], 1, 10);
    show(pending, 21, WAITING, 20, "a");
    show(pending, 22, buildDoneFields(), 20, "b");
    pending.deleted("c");
    pending.settle(1, [{ kind: "refused" }, { kind: "refused" }, { kind: "refused" }], 30);
    expect([listReadyVersions(pending), pending.counts().objects]).toEqual([[21], 2]);
  });

  test("returns resyncs as it returns work, and does not count them", () => {
    const pending = createPendingNodes();
    show(pending, 1, buildDoneFields("10.0.0.1"), 0);
    show(pending, 2, buildDoneFields("10.0.0.2"), 10);
    for (let invocation = 1; invocation < 10; invocation += 1) {
      pending.start(["u"], invocation, 10 + invocation);
      pending.settle(invocation, [{ kind: "refused" }], 10 + invocation);
    }
    expect([...pending.ready("look")].map(({ uid, sinceMs }) => [uid, sinceMs])).toEqual([["u", 10]]);
  });
});

describe("an invocation whose objects are deleted", () => {
  test("is returned when its last object is deleted, and once", () => {
    const pending = waiting("a", "b", "c");
    pending.start(["a", "b"], 7, 10);
    pending.start(["c"], 8, 10);
    expect(["a", "b", "b", "c", "x"].map((uid) => pending.deleted(uid))).toEqual([
      undefined,
      7,
      undefined,
      8,
      undefined,
    ]);
  });

  test.each([
    { given: "ready", prepare: () => {} },
    {
      given: "back",
      prepare: (pending: ReturnType<typeof waiting>) => {
        pending.start(["a"], 1, 0);
        pending.settle(1, [buildRetrySettlement(5)], 10);
      },
    },
    {
      given: "lost, as there is nothing left to abort",
      prepare: (pending: ReturnType<typeof waiting>) => {
        pending.start(["a"], 1, 0);
        pending.settle(1, [{ kind: "failed", settleMs: 9_000 }], 10);
      },
    },
  ])("is not returned by an object that is $given", ({ prepare }) => {
    const pending = waiting("a");
    prepare(pending);
    expect(pending.deleted("a")).toBeUndefined();
  });

  test("that began before the store was reset says nothing about an object with the uid of one of its objects", () => {
    const pending = waiting("a");
    pending.start(["a"], 1, 10);
    pending.deleted("a");
    pending.restarted();
    show(pending, 3, WAITING, 20, "a");
    pending.settle(1, [buildChangedSettlement(20)], 30);
    expect(pending.counts()).toMatchObject({ needed: 1, inFlight: 0 });
  });

  test("keeps an object that returns with its uid from a second invocation until it is settled", () => {
    const pending = waiting("a", "b");
    pending.start(["a", "b"], 1, 10);
    pending.deleted("a");
    show(pending, 20, WAITING, 20, "a");
    expect([listReadyUids(pending), pending.counts().inFlight]).toEqual([[], 2]);
    pending.settle(1, [buildRetrySettlement(1), buildRetrySettlement(1)], 30);
    pending.advance(10_000);
    expect(listReadyUids(pending)).toEqual(["a", "b"]);
  });
});

describe("an object that is done after its invocation ended without a report", () => {
  const failed = { kind: "failed", settleMs: 0 } as const;
  const lost = { kind: "failed", settleMs: 9_000 } as const;
  test.each([
    { given: "after it failed", settlement: failed, doneMs: 200, looks: [20_000, 61_000] },
    { given: "while a function may be writing", settlement: lost, doneMs: 5_000, looks: [20_000, 66_000] },
    { given: "after that", settlement: lost, doneMs: 9_100, looks: [20_000, 70_000] },
    { given: "before it failed", settlement: failed, doneMs: 50, looks: [20_000, 61_000] },
    { given: "before it was lost", settlement: lost, doneMs: 50, looks: [20_000, 70_000] },
  ])(
    "$given, was most probably changed by us: it gets the second resync",
    ({ settlement, doneMs, looks }) => {
      const pending = waiting("u");
      pending.start(["u"], 1, 0);
      const steps = [
        { atMs: doneMs, run: () => void show(pending, 20, buildDoneFields(), doneMs) },
        { atMs: 100, run: () => pending.settle(1, [settlement], 100) },
      ];
      for (const { run } of steps.sort((a, b) => a.atMs - b.atMs)) run();
      const look = findReadyTime(pending);
      expect(look?.queue).toBe("look");
      expect(look?.atMs).toBeGreaterThanOrEqual(looks[0] ?? 0);
      expect(look?.atMs).toBeLessThan(looks[1] ?? 0);
    },
  );

  test("gets no second resync if the next invocation reports another writer's work", () => {
    const pending = waiting("u");
    pending.start(["u"], 1, 0);
    pending.settle(1, [failed], 100);
    pending.advance(10_000);
    pending.start(["u"], 2, 10_000);
    pending.settle(2, [buildRetrySettlement(60)], 10_100);
    show(pending, 20, buildDoneFields(), 11_000);
    expect(findReadyTime(pending)).toBeUndefined();
  });
});

describe("a related object that changes", () => {
  test.each([
    { given: "a retry", settlement: buildRetrySettlement(600), versions: [1] },
    { given: "a report that found nothing to do", settlement: buildReportSettlement({}), versions: [1] },
    {
      given: "a failure, which has nothing to do with it",
      settlement: { kind: "failed", settleMs: 0 } as const,
      versions: [],
    },
  ])("makes an object that waits after $given due", ({ settlement, versions }) => {
    const pending = waiting("u");
    pending.start(["u"], 1, 0);
    pending.settle(1, [settlement], 100);
    pending.requeue("u", 200);
    pending.advance(200);
    expect(listReadyVersions(pending)).toEqual(versions);
  });

  test.each([
    { given: "is asked for again", settlement: buildRetrySettlement(600), versions: [1] },
    { given: "is done", settlement: buildChangedSettlement(20), versions: [] },
    { given: "failed", settlement: { kind: "failed", settleMs: 0 } as const, versions: [] },
  ])(
    "while an invocation that $given is in flight makes the object due after that, if at all",
    ({ settlement, versions }) => {
      const pending = waiting("u");
      pending.start(["u"], 1, 0);
      pending.requeue("u", 50);
      expect(listReadyVersions(pending)).toEqual([]);
      pending.settle(1, [settlement], 100);
      pending.advance(100);
      expect(listReadyVersions(pending)).toEqual(versions);
    },
  );

  test("does not shorten the wait of a conflict, nor wake what is done or unknown", () => {
    const pending = waiting("u");
    pending.start(["u"], 1, 0);
    pending.settle(1, [buildChangedSettlement(20)], 100);
    show(pending, 21, WAITING, 200);
    show(pending, 5, buildDoneFields(), 200, "done");
    for (const uid of ["u", "done", "unknown"]) pending.requeue(uid, 300);
    pending.advance(300);
    expect([listReadyUids(pending), listReadyUids(pending, "look")]).toEqual([[], []]);
  });

  test("waits for the watch to show what was written", () => {
    const pending = waiting("u");
    pending.start(["u"], 1, 0);
    pending.settle(
      1,
      [buildReportSettlement({ outcome: "retry", afterSeconds: 60, resourceVersion: "20" })],
      100,
    );
    pending.requeue("u", 200);
    pending.advance(200);
    expect(listReadyVersions(pending)).toEqual([]);
    show(pending, 20, WAITING, 300);
    expect(listReadyVersions(pending)).toEqual([20]);
  });
});

describe("the warnings of an object", () => {
  test("are sent back as in the last report that had any", () => {
    const pending = waiting("u");
    const told: unknown[] = [];
    const settlements = [
      buildReportSettlement({ outcome: "retry", afterSeconds: 1, said: ["x", "y"] }),
      buildRetrySettlement(1),
      buildReportSettlement({ outcome: "retry", afterSeconds: 1, said: ["z"] }),
    ];
    for (const [flight, settlement] of settlements.entries()) {
      pending.advance(flight * 10_000);
      told.push(...[...pending.ready("work")].map(({ hint }) => hint));
      pending.start(["u"], flight, flight * 10_000);
      pending.settle(flight, [settlement], flight * 10_000 + 100);
    }
    pending.advance(100_000);
    told.push(...[...pending.ready("work")].map(({ hint }) => hint));
    expect(told).toEqual([undefined, { said: ["x", "y"] }, { said: ["x", "y"] }, { said: ["z"] }]);
  });
});

describe("a deletion candidate", () => {
  test("is sent back with the seconds for which every report has named it", () => {
    const pending = waiting("u");
    const told: unknown[] = [];
    const reports: readonly (readonly string[] | undefined)[] = [["x"], ["x", "y"], ["y"], undefined, ["y"]];
    for (const [flight, candidates] of reports.entries()) {
      const nowMs = flight * 10_000;
      pending.advance(nowMs);
      told.push(...[...pending.ready("work", nowMs)].map(({ hint }) => hint?.candidates));
      pending.start(["u"], flight, nowMs);
      const named = candidates === undefined ? {} : { candidates: [...candidates] };
      pending.settle(flight, [buildReportSettlement({ outcome: "retry", afterSeconds: 1, ...named })], nowMs);
    }
    pending.advance(60_000);
    told.push(...[...pending.ready("work", 60_000)].map(({ hint }) => hint?.candidates));
    expect(told).toEqual([
      undefined,
      [{ id: "x", seconds: 10 }],
      [
        { id: "x", seconds: 20 },
        { id: "y", seconds: 10 },
      ],
      [{ id: "y", seconds: 20 }],
      undefined,
      [{ id: "y", seconds: 20 }],
    ]);
  });

  test("has waited for no time if no time is given", () => {
    const pending = waiting("u");
    pending.advance(0);
    pending.start(["u"], 0, 0);
    pending.settle(0, [buildReportSettlement({ outcome: "retry", afterSeconds: 1, candidates: ["x"] })], 0);
    pending.advance(60_000);
    expect([...pending.ready("work")].map(({ hint }) => hint)).toEqual([
      { candidates: [{ id: "x", seconds: 0 }] },
    ]);
  });
});

test("a fingerprint in a report is ours, and no drift", () => {
  const pending = createPendingNodes();
  show(pending, 1, buildDoneFields("10.0.0.1"), 0);
  show(pending, 2, buildDoneFields("10.0.0.2"), 10);
  pending.start(["u"], 1, 10);
  show(pending, 3, buildDoneFields("10.0.0.1"), 20);
  pending.settle(1, [buildChangedSettlement(3, { seen: getDoneFingerprint("10.0.0.1") })], 30);
  expect(pending.nextMs()).toBeUndefined();
});

test("an object that fails every invocation with it does not block the others", () => {
  let state = 7;
  const pending = createPendingNodes(() => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  });
  const uids = Array.from({ length: 64 }, (_, index) => String(index));
  for (const uid of uids) show(pending, 1, WAITING, 0, uid);
  let left = uids;
  for (let invocation = 0; invocation < 200; invocation += 1) {
    const nowMs = Math.max(pending.nextMs() ?? 0, invocation * 100);
    pending.advance(nowMs);
    const batch = listReadyUids(pending).slice(0, 100);
    if (batch.length === 0) continue;
    pending.start(batch, invocation, nowMs);
    const fails = batch.includes("13");
    if (!fails) left = left.filter((uid) => !batch.includes(uid));
    pending.settle(
      invocation,
      batch.map(() => (fails ? { kind: "failed", settleMs: 0 } : buildChangedSettlement(2))),
      nowMs,
    );
  }
  expect(left).toEqual(["13"]);
});
