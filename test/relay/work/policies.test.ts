import { describe, expect, test } from "vitest";
import type { Watch } from "#core/controller.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { observe } from "#relay/work/observed.ts";
import { createPending, type Settlement } from "#relay/work/pending.ts";
import {
  becameReady,
  changed,
  done,
  keyOf,
  nodeOf,
  pendingNodes,
  reportOf,
  retryIn,
  show,
  uidsOf,
  versionsOf,
  WAITING,
} from "#test/relay/work/shown.ts";

const FAILED: Settlement = { kind: "failed", settleMs: 0 };

/** A tainted node of which somebody wrote the taints last. */
const waitingBy = (manager: string | undefined) => ({
  ...WAITING,
  metadata: {
    managedFields: [{ manager, time: "2026-01-01T00:00:00Z", fieldsV1: { "f:spec": { "f:taints": {} } } }],
  },
});

/** Sends the only object each time it is ready, so many times; answers with when, in milliseconds. */
function sentAt(pending: ReturnType<typeof pendingNodes>, times: number, settlement: Settlement) {
  const sent: number[] = [];
  for (let flight = 0; flight < times; flight += 1) {
    const ready = uidsOf(pending).length > 0 ? { atMs: 0 } : becameReady(pending);
    if (ready === undefined) break;
    sent.push(ready.atMs);
    pending.start(["u"], flight, ready.atMs);
    pending.settle(flight, [settlement], ready.atMs);
  }
  return sent;
}

const gaps = (times: readonly number[]): readonly number[] =>
  times.slice(1).map((time, index) => time - (times[index] ?? 0));

describe("somebody who undoes our work", () => {
  /** Undone again as soon as it is done; seen before the report, or after it. */
  function undoneFor(rounds: number, manager: string | undefined, isSeenFirst: boolean) {
    const pending = pendingNodes();
    const told: unknown[] = [];
    const sent: number[] = [];
    const hints: unknown[] = [];
    let version = 1;
    show(pending, version, waitingBy(manager), 0);
    for (let flight = 1; flight <= rounds; flight += 1) {
      const nowMs = uidsOf(pending).length > 0 ? 0 : (becameReady(pending)?.atMs ?? 0);
      sent.push(nowMs);
      hints.push(...[...pending.ready("work")].map(({ hint }) => hint?.undoneBy));
      pending.start(["u"], flight, nowMs);
      version += 1;
      const ours = version;
      version += 1;
      if (!isSeenFirst) told.push(...pending.settle(flight, [changed(ours)], nowMs));
      told.push(show(pending, version, waitingBy(manager), nowMs));
      if (isSeenFirst) told.push(...pending.settle(flight, [changed(ours)], nowMs));
    }
    return { told: told.filter((each) => each !== undefined), sent, hints };
  }

  test.each([{ isSeenFirst: false }, { isSeenFirst: true }])(
    "makes us ever slower, and is told of once ($isSeenFirst)",
    ({ isSeenFirst }) => {
      const { told, sent, hints } = undoneFor(12, "other", isSeenFirst);
      expect(gaps(sent)).toEqual(
        [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].slice(0, gaps(sent).length).map((each) => each * 1_000),
      );
      expect(told).toEqual([{ uid: "u", name: "u", namespace: undefined, rounds: 3, manager: "other" }]);
      expect(hints.slice(0, 5)).toEqual([undefined, undefined, undefined, "other", "other"]);
    },
  );

  test.each([
    { given: "has no name", manager: undefined, hint: "a writer without a name" },
    { given: "has a name longer than any", manager: "x".repeat(300), hint: "x".repeat(128) },
  ])("and $given is hinted at all the same", ({ manager, hint }) => {
    expect(undoneFor(4, manager, false).hints.at(-1)).toBe(hint);
  });

  test("has not undone what is needed again more than a minute later", () => {
    const pending = pendingNodes();
    show(pending, 1, WAITING, 0);
    pending.start(["u"], 1, 0);
    pending.settle(1, [changed(2)], 0);
    show(pending, 2, done(), 10);
    show(pending, 3, WAITING, 60_001);
    expect([versionsOf(pending), [...pending.ready("work")].map(({ again }) => again)]).toEqual([
      [3],
      [false],
    ]);
  });
});

describe("what waits", () => {
  test("for the watch to agree with a report waits ever longer", () => {
    const pending = pendingNodes();
    show(pending, 1, WAITING, 0);
    const waits = gaps(sentAt(pending, 9, reportOf({}))).map((gap) => Math.floor(gap / 1.125 / 1_000 + 0.01));
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
  });

  test.each([
    { given: "no time at all", asked: 0, from: 250, to: 300 },
    { given: "20 s", asked: 20, from: 20_000, to: 23_500 },
    { given: "more than ten minutes", asked: 1e9, from: 600_000, to: 700_000 },
  ])("as a report asks, for $given, waits a little longer and no more", ({ asked, from, to }) => {
    for (const random of [0, 0.999]) {
      const pending = pendingNodes(() => random);
      show(pending, 1, WAITING, 0);
      const [gap = 0] = gaps(sentAt(pending, 2, retryIn(asked)));
      expect(gap).toBeGreaterThanOrEqual(from);
      expect(gap).toBeLessThanOrEqual(to);
    }
  });

  test("without a report waits between 250 ms and 30 s, and as little as at first once it was done", () => {
    const pending = pendingNodes(() => 0.999);
    show(pending, 1, WAITING, 0);
    const waits = gaps(sentAt(pending, 12, FAILED));
    expect([Math.min(...waits) >= 250, Math.max(...waits) > 29_000, Math.max(...waits) <= 30_000]).toEqual([
      true,
      true,
      true,
    ]);
    show(pending, 2, done(), 500_000);
    show(pending, 3, WAITING, 1_000_000);
    pending.start(["u"], 99, 1_000_000);
    pending.settle(99, [FAILED], 1_000_000);
    expect(becameReady(pending)?.atMs).toBeLessThanOrEqual(1_000_500);
  });

  test.each([
    { given: "changes where decisions look", fields: { status: done().status }, atMs: 5_000 },
    { given: "changes elsewhere", fields: { metadata: { annotations: { beat: "1" } } }, atMs: 675_000 },
  ])("and $given goes at $atMs ms", ({ fields, atMs }) => {
    const pending = pendingNodes();
    show(pending, 1, WAITING, 0);
    sentAt(pending, 1, retryIn(600));
    show(pending, 2, { ...WAITING, ...fields }, 5_000);
    expect(uidsOf(pending).length > 0 ? 5_000 : becameReady(pending)?.atMs).toBe(atMs);
  });

  test("and changed where decisions look while it was in flight goes soon", () => {
    const pending = pendingNodes();
    show(pending, 1, WAITING, 0);
    pending.start(["u"], 1, 0);
    show(pending, 2, { ...WAITING, status: done().status }, 100);
    pending.settle(1, [retryIn(600)], 200);
    expect(becameReady(pending)).toEqual({ queue: "work", atMs: 1_000 });
  });

  test("and was changed there by us in part waits as long as it was told to", () => {
    const pending = pendingNodes();
    show(pending, 1, WAITING, 0);
    pending.start(["u"], 1, 0);
    const seen = "  InternalIP=10.0.0.1";
    pending.settle(1, [reportOf({ outcome: "retry", afterSeconds: 30, resourceVersion: "2", seen })], 200);
    show(pending, 2, { ...WAITING, status: done().status }, 300);
    expect(becameReady(pending)?.atMs).toBeGreaterThanOrEqual(30_200);
  });

  test("because a report names no version that it made is asked about again, and is ours once it is done", () => {
    const pending = pendingNodes();
    show(pending, 1, WAITING, 0);
    sentAt(pending, 1, reportOf({ outcome: "changed" }));
    expect([pending.counts().needed, pending.nextMs()]).toEqual([1, 5_625]);
    show(pending, 2, done(), 100);
    expect(becameReady(pending)).toEqual({ queue: "look", atMs: 20_100 });
  });

  test("because no event can carry it goes once it has changed", () => {
    const pending = pendingNodes();
    show(pending, 1, WAITING, 0);
    pending.giveUp("u", 0);
    pending.advance(200_000);
    expect([uidsOf(pending), pending.counts().needed]).toEqual([[], 1]);
    show(pending, 2, { ...WAITING, status: done().status }, 200_000);
    expect(versionsOf(pending)).toEqual([2]);
  });
});

describe("looks", () => {
  test("at drift are made once a minute", () => {
    const pending = pendingNodes();
    const looks: number[] = [];
    for (let second = 0; second < 200; second += 1) {
      show(pending, second + 1, done(`10.0.0.${second}`), second * 1_000);
      pending.advance(second * 1_000);
      if (uidsOf(pending, "look").length === 0) continue;
      looks.push(second);
      pending.start(["u"], second, second * 1_000);
      pending.settle(second, [reportOf({})], second * 1_000);
    }
    expect(looks).toEqual([1, 61, 121, 181]);
  });

  test.each([
    { given: "without a report", settlement: FAILED },
    { given: "with a report that asks for more", settlement: retryIn(1) },
  ])("that fail $given are given up after three", ({ settlement }) => {
    const pending = pendingNodes();
    show(pending, 1, done(), 0);
    pending.look(keyOf(1), nodeOf(1, done()), 0, 0);
    let looks = 0;
    for (; looks < 9 && (uidsOf(pending, "look").length > 0 || becameReady(pending)); looks += 1) {
      pending.start(["u"], looks, looks * 100_000);
      pending.settle(looks, [settlement], looks * 100_000);
    }
    expect(looks).toBe(3);
  });

  test("end where the object needs work, and where no event can carry it", () => {
    const pending = pendingNodes();
    for (const uid of ["a", "b"]) {
      show(pending, 1, done(), 0, uid);
      pending.look(keyOf(1, uid), nodeOf(1, done(), uid), 0, 0);
    }
    show(pending, 2, WAITING, 10, "a");
    pending.giveUp("b", 10);
    expect([uidsOf(pending), uidsOf(pending, "look"), pending.nextMs()]).toEqual([["a"], [], undefined]);
  });

  test("asked for while one is due later come sooner", () => {
    const pending = pendingNodes();
    show(pending, 1, WAITING, 0);
    pending.start(["u"], 1, 0);
    pending.settle(1, [changed(2)], 0);
    show(pending, 2, done(), 10);
    expect(pending.nextMs()).toBe(20_000);
    pending.look(keyOf(2), nodeOf(2, done()), 5_000, 0);
    expect(versionsOf(pending, "look")).toEqual([2]);
  });

  test("are not made for a controller that has none", () => {
    const { looks: _, undoneBy: __, ...rest } = nodeWatch;
    const watch = rest as Watch;
    const pending = createPending(watch, () => 0);
    const at = (version: number, fields: object, nowMs: number): void => {
      const seen = observe(watch, nodeOf(version, fields), { labelPrefixes: [], settings: DEFAULT_SETTINGS });
      if (seen.kind === "object") pending.applied(seen, keyOf(version), nowMs);
    };
    at(1, waitingBy("other"), 0);
    pending.start(["u"], 1, 0);
    pending.settle(1, [changed(2)], 0);
    at(2, done("10.0.0.1"), 10);
    at(3, done("10.0.0.2"), 20);
    pending.look(keyOf(3), nodeOf(3, done()), 30, 0);
    expect([pending.nextMs(), uidsOf(pending, "look"), pending.counts().objects]).toEqual([undefined, [], 1]);
  });
});

describe("an object that a lost flight may have changed", () => {
  test.each([
    { given: "finds nothing to do", settlement: reportOf({}), look: "look" },
    { given: "asks for another try", settlement: retryIn(5), look: undefined },
  ])("is ours where the flight after it $given", ({ settlement, look }) => {
    const pending = pendingNodes();
    show(pending, 1, WAITING, 0);
    pending.start(["u"], 1, 0);
    pending.settle(1, [FAILED], 0);
    const atMs = becameReady(pending)?.atMs ?? 0;
    pending.start(["u"], 2, atMs);
    show(pending, 2, done(), atMs + 10);
    pending.settle(2, [settlement], atMs + 20);
    expect(becameReady(pending)?.queue).toBe(look);
  });
});

describe("observe", () => {
  test.each([
    {
      given: "a node that waits",
      object: nodeOf(1, waitingBy("other")),
      seen: { kind: "object", needsWork: true, fingerprint: " ", undoneBy: "other" },
    },
    {
      given: "a node that is done",
      object: nodeOf(1, done()),
      seen: { kind: "object", needsWork: false, undoneBy: undefined },
    },
    { given: "rubbish", object: { spec: 1 }, seen: { kind: "malformed" } },
  ])("$given", ({ object, seen }) => {
    expect(observe(nodeWatch, object, { labelPrefixes: [], settings: DEFAULT_SETTINGS })).toMatchObject(seen);
  });

  test("keeps of an object what its controller's snapshot has, and no more", () => {
    const seen = observe(
      nodeWatch,
      { ...nodeOf(1, waitingBy("other")), secret: 1 },
      { labelPrefixes: [], settings: DEFAULT_SETTINGS },
    );
    expect(seen).toMatchObject({ snapshot: { metadata: { uid: "u", resourceVersion: "1" } } });
    expect(JSON.stringify(seen)).not.toMatch(/secret|managedFields/);
  });
});
