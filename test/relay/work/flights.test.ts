import { describe, expect, test } from "vitest";
import {
  becameReady,
  changed,
  done,
  fingerprintOfDone,
  pendingNodes,
  reportOf,
  retryIn,
  show,
  uidsOf,
  versionsOf,
  WAITING,
} from "#test/relay/work/shown.ts";

/** Nodes that became ready one millisecond after another, the first one at 0. */
function waiting(...uids: readonly string[]) {
  const pending = pendingNodes();
  for (const [index, uid] of uids.entries()) show(pending, index + 1, WAITING, index, uid);
  return pending;
}

describe("a flight that the platform refused", () => {
  test("gives its objects back to the front of their queue, together and with the time they have waited", () => {
    const pending = waiting("a", "b", "c", "d");
    pending.start(["a", "b"], 1, 10);
    pending.settle(1, [{ kind: "refused" }, { kind: "refused" }], 500);
    expect(uidsOf(pending)).toEqual(["a", "b", "c", "d"]);
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
    for (let flight = 1; flight < 10; flight += 1) {
      pending.start(["a"], flight, flight);
      pending.settle(flight, [{ kind: "refused" }], flight);
    }
    pending.start(["a"], 10, 10);
    pending.settle(10, [{ kind: "failed", settleMs: 0 }], 10);
    expect(becameReady(pending)?.atMs).toBeLessThan(400);
  });

  test("sends an object as it is by now, and one that is done meanwhile not at all", () => {
    const pending = waiting("a", "b", "c");
    pending.start(["a", "b", "c"], 1, 10);
    show(pending, 21, WAITING, 20, "a");
    show(pending, 22, done(), 20, "b");
    pending.deleted("c");
    pending.settle(1, [{ kind: "refused" }, { kind: "refused" }, { kind: "refused" }], 30);
    expect([versionsOf(pending), pending.counts().objects]).toEqual([[21], 2]);
  });

  test("gives looks back as it gives work back, and does not count them", () => {
    const pending = pendingNodes();
    show(pending, 1, done("10.0.0.1"), 0);
    show(pending, 2, done("10.0.0.2"), 10);
    for (let flight = 1; flight < 10; flight += 1) {
      pending.start(["u"], flight, 10 + flight);
      pending.settle(flight, [{ kind: "refused" }], 10 + flight);
    }
    expect([...pending.ready("look")].map(({ uid, sinceMs }) => [uid, sinceMs])).toEqual([["u", 10]]);
  });
});

describe("a flight whose objects are gone", () => {
  test("is named when its last object is deleted, and once", () => {
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
        pending.settle(1, [retryIn(5)], 10);
      },
    },
    {
      given: "lost, as there is nothing left to abort",
      prepare: (pending: ReturnType<typeof waiting>) => {
        pending.start(["a"], 1, 0);
        pending.settle(1, [{ kind: "failed", settleMs: 9_000 }], 10);
      },
    },
  ])("is not named by an object that is $given", ({ prepare }) => {
    const pending = waiting("a");
    prepare(pending);
    expect(pending.deleted("a")).toBeUndefined();
  });

  test("that began before the store was set back says nothing of one that comes back with its uid", () => {
    const pending = waiting("a");
    pending.start(["a"], 1, 10);
    pending.deleted("a");
    pending.restarted();
    show(pending, 3, WAITING, 20, "a");
    pending.settle(1, [changed(20)], 30);
    expect(pending.counts()).toMatchObject({ needed: 1, inFlight: 0 });
  });

  test("keeps one that comes back with its uid from a second flight, until it is settled", () => {
    const pending = waiting("a", "b");
    pending.start(["a", "b"], 1, 10);
    pending.deleted("a");
    show(pending, 20, WAITING, 20, "a");
    expect([uidsOf(pending), pending.counts().inFlight]).toEqual([[], 2]);
    pending.settle(1, [retryIn(1), retryIn(1)], 30);
    pending.advance(10_000);
    expect(uidsOf(pending)).toEqual(["a", "b"]);
  });
});

describe("an object whose flight ended without a report, and that is done", () => {
  const failed = { kind: "failed", settleMs: 0 } as const;
  const lost = { kind: "failed", settleMs: 9_000 } as const;
  test.each([
    { given: "after it failed", settlement: failed, doneMs: 200, looks: [20_000, 61_000] },
    { given: "while somebody may be writing", settlement: lost, doneMs: 5_000, looks: [20_000, 66_000] },
    { given: "after that", settlement: lost, doneMs: 9_100, looks: [20_000, 70_000] },
    { given: "before it failed", settlement: failed, doneMs: 50, looks: [20_000, 61_000] },
    { given: "before it was lost", settlement: lost, doneMs: 50, looks: [20_000, 70_000] },
  ])("$given, was most probably done by us: it gets the second look", ({ settlement, doneMs, looks }) => {
    const pending = waiting("u");
    pending.start(["u"], 1, 0);
    const steps = [
      { atMs: doneMs, run: () => void show(pending, 20, done(), doneMs) },
      { atMs: 100, run: () => pending.settle(1, [settlement], 100) },
    ];
    for (const { run } of steps.sort((a, b) => a.atMs - b.atMs)) run();
    const look = becameReady(pending);
    expect(look?.queue).toBe("look");
    expect(look?.atMs).toBeGreaterThanOrEqual(looks[0] ?? 0);
    expect(look?.atMs).toBeLessThan(looks[1] ?? 0);
  });

  test("gets none where the next flight told of another's work", () => {
    const pending = waiting("u");
    pending.start(["u"], 1, 0);
    pending.settle(1, [failed], 100);
    pending.advance(10_000);
    pending.start(["u"], 2, 10_000);
    pending.settle(2, [retryIn(60)], 10_100);
    show(pending, 20, done(), 11_000);
    expect(becameReady(pending)).toBeUndefined();
  });
});

describe("a related object that changes", () => {
  test.each([
    { given: "a retry", settlement: retryIn(600), versions: [1] },
    { given: "a report that found nothing to do", settlement: reportOf({}), versions: [1] },
    {
      given: "a failure, which has nothing to do with it",
      settlement: { kind: "failed", settleMs: 0 } as const,
      versions: [],
    },
  ])("makes what waits after $given due", ({ settlement, versions }) => {
    const pending = waiting("u");
    pending.start(["u"], 1, 0);
    pending.settle(1, [settlement], 100);
    pending.wake("u", 200);
    pending.advance(200);
    expect(versionsOf(pending)).toEqual(versions);
  });

  test.each([
    { given: "is asked for again", settlement: retryIn(600), versions: [1] },
    { given: "is done", settlement: changed(20), versions: [] },
    { given: "failed", settlement: { kind: "failed", settleMs: 0 } as const, versions: [] },
  ])("while one is in flight that $given makes it due after that, if at all", ({ settlement, versions }) => {
    const pending = waiting("u");
    pending.start(["u"], 1, 0);
    pending.wake("u", 50);
    expect(versionsOf(pending)).toEqual([]);
    pending.settle(1, [settlement], 100);
    pending.advance(100);
    expect(versionsOf(pending)).toEqual(versions);
  });

  test("does not hurry what somebody undoes, nor brings up what is done or unknown", () => {
    const pending = waiting("u");
    pending.start(["u"], 1, 0);
    pending.settle(1, [changed(20)], 100);
    show(pending, 21, WAITING, 200);
    show(pending, 5, done(), 200, "done");
    for (const uid of ["u", "done", "unknown"]) pending.wake(uid, 300);
    pending.advance(300);
    expect([uidsOf(pending), uidsOf(pending, "look")]).toEqual([[], []]);
  });

  test("waits for the watch to show what was written", () => {
    const pending = waiting("u");
    pending.start(["u"], 1, 0);
    pending.settle(1, [reportOf({ outcome: "retry", afterSeconds: 60, resourceVersion: "20" })], 100);
    pending.wake("u", 200);
    pending.advance(200);
    expect(versionsOf(pending)).toEqual([]);
    show(pending, 20, WAITING, 300);
    expect(versionsOf(pending)).toEqual([20]);
  });
});

describe("what was said of an object", () => {
  test("is handed back with it, as its last report that said anything has it", () => {
    const pending = waiting("u");
    const told: unknown[] = [];
    const settlements = [
      reportOf({ outcome: "retry", afterSeconds: 1, said: ["x", "y"] }),
      retryIn(1),
      reportOf({ outcome: "retry", afterSeconds: 1, said: ["z"] }),
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
  test("is handed back with the seconds for which every report has named it", () => {
    const pending = waiting("u");
    const told: unknown[] = [];
    const reports: readonly (readonly string[] | undefined)[] = [["x"], ["x", "y"], ["y"], undefined, ["y"]];
    for (const [flight, candidates] of reports.entries()) {
      const nowMs = flight * 10_000;
      pending.advance(nowMs);
      told.push(...[...pending.ready("work", nowMs)].map(({ hint }) => hint?.candidates));
      pending.start(["u"], flight, nowMs);
      const named = candidates === undefined ? {} : { candidates: [...candidates] };
      pending.settle(flight, [reportOf({ outcome: "retry", afterSeconds: 1, ...named })], nowMs);
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

  test("has waited for no time where the time is not given", () => {
    const pending = waiting("u");
    pending.advance(0);
    pending.start(["u"], 0, 0);
    pending.settle(0, [reportOf({ outcome: "retry", afterSeconds: 1, candidates: ["x"] })], 0);
    pending.advance(60_000);
    expect([...pending.ready("work")].map(({ hint }) => hint)).toEqual([
      { candidates: [{ id: "x", seconds: 0 }] },
    ]);
  });
});

test("the fingerprint that a report tells is ours, and no drift", () => {
  const pending = pendingNodes();
  show(pending, 1, done("10.0.0.1"), 0);
  show(pending, 2, done("10.0.0.2"), 10);
  pending.start(["u"], 1, 10);
  show(pending, 3, done("10.0.0.1"), 20);
  pending.settle(1, [changed(3, { seen: fingerprintOfDone("10.0.0.1") })], 30);
  expect(pending.nextMs()).toBeUndefined();
});

test("one object that brings down every flight it is in does not keep the others from theirs", () => {
  let state = 7;
  const pending = pendingNodes(() => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  });
  const uids = Array.from({ length: 64 }, (_, index) => String(index));
  for (const uid of uids) show(pending, 1, WAITING, 0, uid);
  let left = uids;
  for (let flight = 0; flight < 200; flight += 1) {
    const nowMs = Math.max(pending.nextMs() ?? 0, flight * 100);
    pending.advance(nowMs);
    const batch = uidsOf(pending).slice(0, 100);
    if (batch.length === 0) continue;
    pending.start(batch, flight, nowMs);
    const fails = batch.includes("13");
    if (!fails) left = left.filter((uid) => !batch.includes(uid));
    pending.settle(
      flight,
      batch.map(() => (fails ? { kind: "failed", settleMs: 0 } : changed(2))),
      nowMs,
    );
  }
  expect(left).toEqual(["13"]);
});
