import { describe, expect, test } from "vitest";
import { nodeWatch } from "#core/node/watch.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import type { Watch } from "#core/watch.ts";
import { observe } from "#relay/work/apply-observed.ts";
import { createPending } from "#relay/work/pending.ts";
import type { Settlement } from "#relay/work/types.ts";
import {
  buildChangedSettlement,
  buildDoneFields,
  buildKey,
  buildNode,
  buildReportSettlement,
  buildRetrySettlement,
  createPendingNodes,
  findReadyTime,
  listReadyUids,
  listReadyVersions,
  show,
  WAITING,
} from "#test/relay/work/pending-builders.ts";

const FAILED: Settlement = { kind: "failed", settleMs: 0 };

/** Builds a tainted node whose taints this manager wrote last. */
const waitingBy = (manager: string | undefined) => ({
  ...WAITING,
  metadata: {
    managedFields: [{ manager, time: "2026-01-01T00:00:00Z", fieldsV1: { "f:spec": { "f:taints": {} } } }],
  },
});

/** Sends the only object each time it is ready, this many times. Returns when, in milliseconds. */
function sentAt(pending: ReturnType<typeof createPendingNodes>, times: number, settlement: Settlement) {
  const sent: number[] = [];
  for (let invocation = 0; invocation < times; invocation += 1) {
    const ready = listReadyUids(pending).length > 0 ? { atMs: 0 } : findReadyTime(pending);
    if (ready === undefined) break;
    sent.push(ready.atMs);
    pending.start(["u"], invocation, ready.atMs);
    pending.settle(invocation, [settlement], ready.atMs);
  }
  return sent;
}

const gaps = (times: readonly number[]): readonly number[] =>
  times.slice(1).map((time, index) => time - (times[index] ?? 0));

describe("a writer that undoes our work", () => {
  /** Undoes the work this many times as soon as it is done; seen before the report, or after it. */
  function undoneFor(rounds: number, manager: string | undefined, isSeenFirst: boolean) {
    const pending = createPendingNodes();
    const told: unknown[] = [];
    const sent: number[] = [];
    const hints: unknown[] = [];
    let version = 1;
    show(pending, version, waitingBy(manager), 0);
    for (let invocation = 1; invocation <= rounds; invocation += 1) {
      const nowMs = listReadyUids(pending).length > 0 ? 0 : (findReadyTime(pending)?.atMs ?? 0);
      sent.push(nowMs);
      hints.push(...[...pending.ready("work")].map(({ hint }) => hint?.undoneBy));
      pending.start(["u"], invocation, nowMs);
      version += 1;
      const ours = version;
      version += 1;
      if (!isSeenFirst) told.push(...pending.settle(invocation, [buildChangedSettlement(ours)], nowMs));
      told.push(show(pending, version, waitingBy(manager), nowMs));
      if (isSeenFirst) told.push(...pending.settle(invocation, [buildChangedSettlement(ours)], nowMs));
    }
    return { told: told.filter((each) => each !== undefined), sent, hints };
  }

  test.each([{ isSeenFirst: false }, { isSeenFirst: true }])(
    "makes us slower each time, and is reported once ($isSeenFirst)",
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
  ])("and $given is still named in a hint", ({ manager, hint }) => {
    expect(undoneFor(4, manager, false).hints.at(-1)).toBe(hint);
  });

  test("is not reported if the work is needed again more than a minute later", () => {
    const pending = createPendingNodes();
    show(pending, 1, WAITING, 0);
    pending.start(["u"], 1, 0);
    pending.settle(1, [buildChangedSettlement(2)], 0);
    show(pending, 2, buildDoneFields(), 10);
    show(pending, 3, WAITING, 60_001);
    expect([listReadyVersions(pending), [...pending.ready("work")].map(({ again }) => again)]).toEqual([
      [3],
      [false],
    ]);
  });
});

describe("an object that waits", () => {
  test("for the watch to agree with a report waits longer each time", () => {
    const pending = createPendingNodes();
    show(pending, 1, WAITING, 0);
    const waits = gaps(sentAt(pending, 9, buildReportSettlement({}))).map((gap) =>
      Math.floor(gap / 1.125 / 1_000 + 0.01),
    );
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
  });

  test.each([
    { given: "no time at all", asked: 0, from: 250, to: 300 },
    { given: "20 s", asked: 20, from: 20_000, to: 23_500 },
    { given: "more than ten minutes", asked: 1e9, from: 600_000, to: 700_000 },
  ])("as a report asks, for $given, waits a little longer and no more", ({ asked, from, to }) => {
    for (const random of [0, 0.999]) {
      const pending = createPendingNodes(() => random);
      show(pending, 1, WAITING, 0);
      const [gap = 0] = gaps(sentAt(pending, 2, buildRetrySettlement(asked)));
      expect(gap).toBeGreaterThanOrEqual(from);
      expect(gap).toBeLessThanOrEqual(to);
    }
  });

  test("without a report waits between 250 ms and 30 s, and briefly again once it was done", () => {
    const pending = createPendingNodes(() => 0.999);
    show(pending, 1, WAITING, 0);
    const waits = gaps(sentAt(pending, 12, FAILED));
    expect([Math.min(...waits) >= 250, Math.max(...waits) > 29_000, Math.max(...waits) <= 30_000]).toEqual([
      true,
      true,
      true,
    ]);
    show(pending, 2, buildDoneFields(), 500_000);
    show(pending, 3, WAITING, 1_000_000);
    pending.start(["u"], 99, 1_000_000);
    pending.settle(99, [FAILED], 1_000_000);
    expect(findReadyTime(pending)?.atMs).toBeLessThanOrEqual(1_000_500);
  });

  test.each([
    { given: "changes where decisions look", fields: { status: buildDoneFields().status }, atMs: 5_000 },
    { given: "changes elsewhere", fields: { metadata: { annotations: { beat: "1" } } }, atMs: 675_000 },
  ])("and $given goes at $atMs ms", ({ fields, atMs }) => {
    const pending = createPendingNodes();
    show(pending, 1, WAITING, 0);
    sentAt(pending, 1, buildRetrySettlement(600));
    show(pending, 2, { ...WAITING, ...fields }, 5_000);
    expect(listReadyUids(pending).length > 0 ? 5_000 : findReadyTime(pending)?.atMs).toBe(atMs);
  });

  test("and changed during the invocation in a field that decisions read goes soon", () => {
    const pending = createPendingNodes();
    show(pending, 1, WAITING, 0);
    pending.start(["u"], 1, 0);
    show(pending, 2, { ...WAITING, status: buildDoneFields().status }, 100);
    pending.settle(1, [buildRetrySettlement(600)], 200);
    expect(findReadyTime(pending)).toEqual({ queue: "work", atMs: 1_000 });
  });

  test("and was partly changed by us in such a field waits as its report asked", () => {
    const pending = createPendingNodes();
    show(pending, 1, WAITING, 0);
    pending.start(["u"], 1, 0);
    const seen = "  InternalIP=10.0.0.1";
    pending.settle(
      1,
      [buildReportSettlement({ outcome: "retry", afterSeconds: 30, resourceVersion: "2", seen })],
      200,
    );
    show(pending, 2, { ...WAITING, status: buildDoneFields().status }, 300);
    expect(findReadyTime(pending)?.atMs).toBeGreaterThanOrEqual(30_200);
  });

  test("because its report names no version is checked again, and is ours once it is done", () => {
    const pending = createPendingNodes();
    show(pending, 1, WAITING, 0);
    sentAt(pending, 1, buildReportSettlement({ outcome: "changed" }));
    expect([pending.counts().needed, pending.nextMs()]).toEqual([1, 5_625]);
    show(pending, 2, buildDoneFields(), 100);
    expect(findReadyTime(pending)).toEqual({ queue: "look", atMs: 20_100 });
  });

  test("because no event can carry it goes once it has changed", () => {
    const pending = createPendingNodes();
    show(pending, 1, WAITING, 0);
    pending.giveUp("u", 0);
    pending.advance(200_000);
    expect([listReadyUids(pending), pending.counts().needed]).toEqual([[], 1]);
    show(pending, 2, { ...WAITING, status: buildDoneFields().status }, 200_000);
    expect(listReadyVersions(pending)).toEqual([2]);
  });
});

describe("resyncs", () => {
  test("for drift run once a minute", () => {
    const pending = createPendingNodes();
    const looks: number[] = [];
    for (let second = 0; second < 200; second += 1) {
      show(pending, second + 1, buildDoneFields(`10.0.0.${second}`), second * 1_000);
      pending.advance(second * 1_000);
      if (listReadyUids(pending, "look").length === 0) continue;
      looks.push(second);
      pending.start(["u"], second, second * 1_000);
      pending.settle(second, [buildReportSettlement({})], second * 1_000);
    }
    expect(looks).toEqual([1, 61, 121, 181]);
  });

  test.each([
    { given: "without a report", settlement: FAILED },
    { given: "with a report that asks for more", settlement: buildRetrySettlement(1) },
  ])("that fail $given are given up after three", ({ settlement }) => {
    const pending = createPendingNodes();
    show(pending, 1, buildDoneFields(), 0);
    pending.requestResync(buildKey(1), buildNode(1, buildDoneFields()), 0, 0);
    let looks = 0;
    for (; looks < 9 && (listReadyUids(pending, "look").length > 0 || findReadyTime(pending)); looks += 1) {
      pending.start(["u"], looks, looks * 100_000);
      pending.settle(looks, [settlement], looks * 100_000);
    }
    expect(looks).toBe(3);
  });

  test("end if the object needs work, or if no event can carry it", () => {
    const pending = createPendingNodes();
    for (const uid of ["a", "b"]) {
      show(pending, 1, buildDoneFields(), 0, uid);
      pending.requestResync(buildKey(1, uid), buildNode(1, buildDoneFields(), uid), 0, 0);
    }
    show(pending, 2, WAITING, 10, "a");
    pending.giveUp("b", 10);
    expect([listReadyUids(pending), listReadyUids(pending, "look"), pending.nextMs()]).toEqual([
      ["a"],
      [],
      undefined,
    ]);
  });

  test("requested before a later planned one run sooner", () => {
    const pending = createPendingNodes();
    show(pending, 1, WAITING, 0);
    pending.start(["u"], 1, 0);
    pending.settle(1, [buildChangedSettlement(2)], 0);
    show(pending, 2, buildDoneFields(), 10);
    expect(pending.nextMs()).toBe(20_000);
    pending.requestResync(buildKey(2), buildNode(2, buildDoneFields()), 5_000, 0);
    expect(listReadyVersions(pending, "look")).toEqual([2]);
  });

  test("do not run for a controller without them", () => {
    const { rechecks: _, ...rest } = nodeWatch;
    const watch = rest as Watch;
    const pending = createPending(watch, () => 0);
    const at = (version: number, fields: object, nowMs: number): void => {
      const seen = observe(watch, buildNode(version, fields), {
        labelPrefixes: [],
        settings: DEFAULT_SETTINGS,
      });
      if (seen.kind === "object") pending.applied(seen, buildKey(version), nowMs);
    };
    at(1, waitingBy("other"), 0);
    pending.start(["u"], 1, 0);
    pending.settle(1, [buildChangedSettlement(2)], 0);
    at(2, buildDoneFields("10.0.0.1"), 10);
    at(3, buildDoneFields("10.0.0.2"), 20);
    pending.requestResync(buildKey(3), buildNode(3, buildDoneFields()), 30, 0);
    expect([pending.nextMs(), listReadyUids(pending, "look"), pending.counts().objects]).toEqual([
      undefined,
      [],
      1,
    ]);
  });
});

describe("an object that a lost invocation may have changed", () => {
  test.each([
    { given: "finds nothing to do", settlement: buildReportSettlement({}), look: "look" },
    { given: "asks for another try", settlement: buildRetrySettlement(5), look: undefined },
  ])("counts as changed by us if the next invocation $given", ({ settlement, look }) => {
    const pending = createPendingNodes();
    show(pending, 1, WAITING, 0);
    pending.start(["u"], 1, 0);
    pending.settle(1, [FAILED], 0);
    const atMs = findReadyTime(pending)?.atMs ?? 0;
    pending.start(["u"], 2, atMs);
    show(pending, 2, buildDoneFields(), atMs + 10);
    pending.settle(2, [settlement], atMs + 20);
    expect(findReadyTime(pending)?.queue).toBe(look);
  });
});

describe("observe", () => {
  test.each([
    {
      given: "a node that waits",
      object: buildNode(1, waitingBy("other")),
      seen: { kind: "object", needsWork: true, fingerprint: " ", undoneBy: "other" },
    },
    {
      given: "a node that is done",
      object: buildNode(1, buildDoneFields()),
      seen: { kind: "object", needsWork: false, undoneBy: undefined },
    },
    { given: "rubbish", object: { spec: 1 }, seen: { kind: "malformed" } },
  ])("$given", ({ object, seen }) => {
    expect(observe(nodeWatch, object, { labelPrefixes: [], settings: DEFAULT_SETTINGS })).toMatchObject(seen);
  });

  test("keeps only the fields of the controller's snapshot", () => {
    const seen = observe(
      nodeWatch,
      { ...buildNode(1, waitingBy("other")), secret: 1 },
      { labelPrefixes: [], settings: DEFAULT_SETTINGS },
    );
    expect(seen).toMatchObject({ snapshot: { metadata: { uid: "u", resourceVersion: "1" } } });
    expect(JSON.stringify(seen)).not.toMatch(/secret|managedFields/);
  });
});
