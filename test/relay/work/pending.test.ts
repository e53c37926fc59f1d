import { describe, expect, test } from "vitest";
import type { ObjectReport } from "#core/report.ts";
import { observeNode } from "#relay/work/observed.ts";
import { createPending, type Lane, type Pending } from "#relay/work/pending.ts";
import { INITIALIZED, TAINTED } from "#test/relay/fake-functions.ts";

const key = (resourceVersion: number) => ({ name: "a", uid: "u", resourceVersion: String(resourceVersion) });

function show(pending: Pending, version: number, fields: object, nowMs: number) {
  const metadata = { ...key(version), creationTimestamp: "2026-01-01T00:00:00Z" };
  const observed = observeNode({ metadata, ...fields });
  if (observed.kind === "malformed") throw new Error(JSON.stringify(observed.faults));
  return pending.applied(observed, key(version), nowMs);
}

const ready = (pending: Pending, lane: Lane = "work") =>
  [...pending.ready(lane)].map(({ snapshot }) => Number(snapshot.metadata.resourceVersion));

const changed = (version: number): { kind: "report"; report: ObjectReport } => ({
  kind: "report",
  report: {
    index: 0,
    outcome: "changed",
    because: { code: "Initialized", message: "" },
    resourceVersion: String(version),
  },
});

/** Sent at 0 as version 10, and reported at 100 to have been changed in version 20. */
function reported(): Pending {
  const pending = createPending(() => 0);
  show(pending, 10, TAINTED, 0);
  pending.start("u", 0);
  pending.settle("u", changed(20), 100);
  return pending;
}

describe("versions", () => {
  test.each([
    { given: "older than our write", version: 15, at: [] },
    { given: "that of our write, and the taint is there still", version: 20, at: [20] },
    { given: "newer than our write, and the taint is back", version: 25, at: [25] },
  ])("after a report, a tainted version $given", ({ version, at }) => {
    const pending = reported();
    show(pending, version, TAINTED, 200);
    pending.advance(4_000);
    expect(ready(pending)).toEqual(at);
  });

  test("a version older than one seen is dropped", () => {
    const pending = createPending(() => 0);
    show(pending, 12, INITIALIZED, 0);
    show(pending, 9, TAINTED, 0);
    expect([ready(pending), pending.counts().needed]).toEqual([[], 0]);
  });

  test("of another history are taken as they come", () => {
    const pending = reported();
    pending.restarted();
    show(pending, 3, TAINTED, 70_000);
    expect(ready(pending)).toEqual([3]);
  });

  test("a write that the watch has not shown for 5 s is read, again every 5 s", () => {
    const pending = reported();
    const reads = [5_000, 5_100, 10_000, 10_100].map((nowMs) => pending.advance(nowMs).length);
    expect(reads).toEqual([0, 1, 0, 1]);
  });
});

describe("a taint that comes back while our removal of it is still in flight", () => {
  test("is backed off from like any other, and not removed at once", () => {
    const pending = createPending(() => 0);
    show(pending, 10, TAINTED, 0);
    pending.start("u", 0);
    show(pending, 20, INITIALIZED, 50);
    show(pending, 21, TAINTED, 60);
    pending.settle("u", changed(20), 100);
    expect(ready(pending)).toEqual([]);
    pending.advance(1_100);
    expect(ready(pending)).toEqual([21]);
  });
});

describe("an object that is gone", () => {
  test.each([
    { given: "ready", prepare: () => {} },
    { given: "in flight", prepare: (pending: Pending) => pending.start("u", 0) },
    {
      given: "waiting for a function's own time-out",
      prepare: (pending: Pending) => {
        pending.start("u", 0);
        pending.settle("u", { kind: "failed", settleMs: 10_000 }, 0);
      },
    },
    {
      given: "waiting for the watch",
      prepare: (pending: Pending) => {
        pending.start("u", 0);
        pending.settle("u", changed(20), 0);
      },
    },
  ])("while $given leaves nothing behind", ({ prepare }) => {
    const pending = createPending(() => 0);
    show(pending, 10, TAINTED, 0);
    prepare(pending);
    pending.deleted("u");
    pending.settle("u", changed(30), 10);
    pending.advance(1_000_000);
    expect(pending.counts()).toEqual({ objects: 0, needed: 0, inFlight: 0, due: { work: 0, look: 0 } });
    expect([pending.nextMs(), ready(pending), ready(pending, "look")]).toEqual([undefined, [], []]);
  });
});

describe("a look", () => {
  test.each([
    { given: "an object that needs work", fields: TAINTED, looks: [] },
    { given: "an initialized object", fields: INITIALIZED, looks: [10] },
  ])("asked for at $given", ({ fields, looks }) => {
    const pending = createPending(() => 0);
    show(pending, 10, fields, 0);
    const observed = observeNode({ metadata: { ...key(10), creationTimestamp: "x" }, ...fields });
    if (observed.kind === "object") pending.look(key(10), observed.snapshot, 0, 0);
    expect(ready(pending, "look")).toEqual(looks);
  });

  test("at an object that the watch does not know is not made: nothing would ever forget it", () => {
    const pending = createPending(() => 0);
    const observed = observeNode({ metadata: { ...key(10), creationTimestamp: "x" }, ...INITIALIZED });
    if (observed.kind === "object") pending.look(key(10), observed.snapshot, 0, 0);
    expect([observed.kind, pending.counts().objects]).toEqual(["object", 0]);
  });
});
