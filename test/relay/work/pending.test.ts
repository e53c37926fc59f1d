import { describe, expect, test } from "vitest";
import type { Pending } from "#relay/work/pending.ts";
import {
  buildChangedSettlement,
  buildDoneFields,
  buildKey,
  buildNode,
  createPendingNodes,
  listReadyUids,
  listReadyVersions,
  show,
  WAITING,
} from "#test/relay/work/pending-builders.ts";

const failed = (settleMs: number) => ({ kind: "failed", settleMs }) as const;

/** Creates an object sent at 0 as version 10, and reported at 100 as changed in version 20. */
function reported(): Pending {
  const pending = createPendingNodes();
  show(pending, 10, WAITING, 0);
  pending.start(["u"], 1, 0);
  pending.settle(1, [buildChangedSettlement(20)], 100);
  return pending;
}

describe("versions", () => {
  test.each([
    { given: "older than our write", version: 15, at: [] },
    { given: "that of our write, with the taint still present", version: 20, at: [20] },
    { given: "newer than our write, and the taint is back", version: 25, at: [25] },
  ])("after a report, a tainted version $given", ({ version, at }) => {
    const pending = reported();
    show(pending, version, WAITING, 200);
    pending.advance(4_000);
    expect(listReadyVersions(pending)).toEqual(at);
  });

  test("older than a seen one are dropped", () => {
    const pending = createPendingNodes();
    show(pending, 12, buildDoneFields(), 0);
    show(pending, 9, WAITING, 0);
    expect([listReadyVersions(pending), pending.counts().needed]).toEqual([[], 0]);
  });

  test("of another history are taken as they come", () => {
    const pending = reported();
    pending.restarted();
    show(pending, 3, WAITING, 70_000);
    expect(listReadyVersions(pending)).toEqual([3]);
  });

  test("of a write that the watch has not shown for 5 s are read, again every 5 s", () => {
    const pending = reported();
    const reads = [5_000, 5_100, 10_000, 10_100].map((nowMs) => pending.advance(nowMs).length);
    expect(reads).toEqual([0, 1, 0, 1]);
  });
});

describe("a taint that returns while our removal of it is in flight", () => {
  test("gets the same back-off as any other, and is not removed at once", () => {
    const pending = createPendingNodes();
    show(pending, 10, WAITING, 0);
    pending.start(["u"], 1, 0);
    show(pending, 20, buildDoneFields(), 50);
    show(pending, 21, WAITING, 60);
    pending.settle(1, [buildChangedSettlement(20)], 100);
    expect(listReadyVersions(pending)).toEqual([]);
    pending.advance(1_100);
    expect(listReadyVersions(pending)).toEqual([21]);
  });
});

describe("a deleted object", () => {
  test.each([
    { given: "ready", prepare: () => {} },
    { given: "in flight", prepare: (pending: Pending) => pending.start(["u"], 1, 0) },
    {
      given: "waiting for a function's own time-out",
      prepare: (pending: Pending) => {
        pending.start(["u"], 1, 0);
        pending.settle(1, [failed(10_000)], 0);
      },
    },
    {
      given: "waiting for the watch",
      prepare: (pending: Pending) => {
        pending.start(["u"], 1, 0);
        pending.settle(1, [buildChangedSettlement(20)], 0);
      },
    },
  ])("while $given leaves nothing behind", ({ prepare }) => {
    const pending = createPendingNodes();
    show(pending, 10, WAITING, 0);
    prepare(pending);
    pending.deleted("u");
    expect(pending.nextMs()).toBeUndefined();
    pending.settle(1, [buildChangedSettlement(30)], 10);
    pending.advance(1_000_000);
    expect(pending.counts()).toEqual({ objects: 0, needed: 0, inFlight: 0, due: { work: 0, look: 0 } });
    expect([pending.nextMs(), listReadyVersions(pending), listReadyVersions(pending, "look")]).toEqual([
      undefined,
      [],
      [],
    ]);
  });
});

describe("a resync", () => {
  test.each([
    { given: "an object that needs work", fields: WAITING, looks: [] },
    { given: "an initialized object", fields: buildDoneFields(), looks: [10] },
  ])("requested at $given", ({ fields, looks }) => {
    const pending = createPendingNodes();
    show(pending, 10, fields, 0);
    pending.requestResync(buildKey(10), buildNode(10, fields), 0, 0);
    expect(listReadyVersions(pending, "look")).toEqual(looks);
  });

  test("of an object that the watch does not know is not made, because it would never be removed", () => {
    const pending = createPendingNodes();
    pending.requestResync(buildKey(10), buildNode(10, buildDoneFields()), 0, 0);
    expect([listReadyUids(pending, "look"), pending.counts().objects]).toEqual([[], 0]);
  });
});
