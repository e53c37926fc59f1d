import { describe, expect, test } from "vitest";
import type { Pending } from "#relay/work/pending.ts";
import {
  changed,
  done,
  keyOf,
  nodeOf,
  pendingNodes,
  show,
  uidsOf,
  versionsOf,
  WAITING,
} from "#test/relay/work/shown.ts";

const failed = (settleMs: number) => ({ kind: "failed", settleMs }) as const;

/** Sent at 0 as version 10, and reported at 100 to have been changed in version 20. */
function reported(): Pending {
  const pending = pendingNodes();
  show(pending, 10, WAITING, 0);
  pending.start(["u"], 1, 0);
  pending.settle(1, [changed(20)], 100);
  return pending;
}

describe("versions", () => {
  test.each([
    { given: "older than our write", version: 15, at: [] },
    { given: "that of our write, and the taint is there still", version: 20, at: [20] },
    { given: "newer than our write, and the taint is back", version: 25, at: [25] },
  ])("after a report, a tainted version $given", ({ version, at }) => {
    const pending = reported();
    show(pending, version, WAITING, 200);
    pending.advance(4_000);
    expect(versionsOf(pending)).toEqual(at);
  });

  test("a version older than one seen is dropped", () => {
    const pending = pendingNodes();
    show(pending, 12, done(), 0);
    show(pending, 9, WAITING, 0);
    expect([versionsOf(pending), pending.counts().needed]).toEqual([[], 0]);
  });

  test("of another history are taken as they come", () => {
    const pending = reported();
    pending.restarted();
    show(pending, 3, WAITING, 70_000);
    expect(versionsOf(pending)).toEqual([3]);
  });

  test("a write that the watch has not shown for 5 s is read, again every 5 s", () => {
    const pending = reported();
    const reads = [5_000, 5_100, 10_000, 10_100].map((nowMs) => pending.advance(nowMs).length);
    expect(reads).toEqual([0, 1, 0, 1]);
  });
});

describe("a taint that comes back while our removal of it is still in flight", () => {
  test("is backed off from like any other, and not removed at once", () => {
    const pending = pendingNodes();
    show(pending, 10, WAITING, 0);
    pending.start(["u"], 1, 0);
    show(pending, 20, done(), 50);
    show(pending, 21, WAITING, 60);
    pending.settle(1, [changed(20)], 100);
    expect(versionsOf(pending)).toEqual([]);
    pending.advance(1_100);
    expect(versionsOf(pending)).toEqual([21]);
  });
});

describe("an object that is gone", () => {
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
        pending.settle(1, [changed(20)], 0);
      },
    },
  ])("while $given leaves nothing behind", ({ prepare }) => {
    const pending = pendingNodes();
    show(pending, 10, WAITING, 0);
    prepare(pending);
    pending.deleted("u");
    expect(pending.nextMs()).toBeUndefined();
    pending.settle(1, [changed(30)], 10);
    pending.advance(1_000_000);
    expect(pending.counts()).toEqual({ objects: 0, needed: 0, inFlight: 0, due: { work: 0, look: 0 } });
    expect([pending.nextMs(), versionsOf(pending), versionsOf(pending, "look")]).toEqual([undefined, [], []]);
  });
});

describe("a look", () => {
  test.each([
    { given: "an object that needs work", fields: WAITING, looks: [] },
    { given: "an initialized object", fields: done(), looks: [10] },
  ])("asked for at $given", ({ fields, looks }) => {
    const pending = pendingNodes();
    show(pending, 10, fields, 0);
    pending.look(keyOf(10), nodeOf(10, fields), 0, 0);
    expect(versionsOf(pending, "look")).toEqual(looks);
  });

  test("at an object that the watch does not know is not made: nothing would ever forget it", () => {
    const pending = pendingNodes();
    pending.look(keyOf(10), nodeOf(10, done()), 0, 0);
    expect([uidsOf(pending, "look"), pending.counts().objects]).toEqual([[], 0]);
  });
});
