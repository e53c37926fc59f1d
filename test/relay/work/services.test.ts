import { describe, expect, test } from "vitest";
import { serviceWatch } from "#core/service/watch.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { observe } from "#relay/work/apply-observed.ts";
import { createPending, type Pending } from "#relay/work/pending.ts";
import { buildService } from "#test/core/service/builders.ts";
import {
  buildChangedSettlement,
  buildKey,
  buildRetrySettlement,
  findReadyTime,
} from "#test/relay/work/pending-builders.ts";

const FINALIZERS = ["service.kubernetes.io/load-balancer-cleanup"];
const DELETING = { deletionTimestamp: "2026-03-01T12:00:00Z" };

/** Shows a version of a Service that needs work, with its own port. */
function show(pending: Pending, version: number, port: number, nowMs: number, metadata: object = {}): void {
  const object = buildService({
    metadata: { uid: "u", name: "u", resourceVersion: String(version), finalizers: FINALIZERS, ...metadata },
    spec: { ports: [{ port, protocol: "TCP" }] },
  });
  const observed = observe(serviceWatch, object, { labelPrefixes: [], settings: DEFAULT_SETTINGS });
  if (observed.kind === "malformed") throw new Error(JSON.stringify(observed.faults));
  pending.applied(observed, { ...buildKey(version), namespace: "default" }, nowMs);
}

/** Creates a Service that its owner has changed this many times, a second apart; each change was applied. */
function edited(times: number): { readonly pending: Pending; readonly nowMs: number } {
  const pending = createPending(serviceWatch, () => 0);
  let nowMs = 0;
  for (let round = 1; round <= times; round += 1) {
    show(pending, 10 * round, round, nowMs);
    nowMs = Math.max(nowMs, findReadyTime(pending)?.atMs ?? nowMs);
    pending.advance(nowMs);
    pending.start(["u"], round, nowMs);
    nowMs += 1_000;
    pending.settle(round, [buildChangedSettlement(10 * round + 1)], nowMs);
  }
  return { pending, nowMs };
}

/** Returns when the Service can be sent if nothing else happens. */
function dueMs(pending: Pending, nowMs: number): number | undefined {
  return pending.queue("work").ready > 0 ? nowMs : findReadyTime(pending)?.atMs;
}

describe("the deletion of a Service", () => {
  test("is due at once after many changes within a minute", () => {
    const { pending, nowMs } = edited(6);
    show(pending, 100, 7, nowMs, DELETING);
    expect(dueMs(pending, nowMs)).toBe(nowMs);
  });

  test("is due at once during the back-off of a change", () => {
    const { pending, nowMs } = edited(6);
    show(pending, 100, 7, nowMs);
    show(pending, 101, 7, nowMs + 10, DELETING);
    expect(dueMs(pending, nowMs + 10)).toBe(nowMs + 10);
  });

  test("is due at once while the Service waits for a retry", () => {
    const pending = createPending(serviceWatch, () => 0);
    show(pending, 10, 1, 0);
    pending.start(["u"], 1, 0);
    pending.settle(1, [buildRetrySettlement(300)], 100);
    show(pending, 11, 1, 200, DELETING);
    expect(dueMs(pending, 200)).toBe(200);
  });

  test.each([
    { given: "changed the Service", settlement: buildChangedSettlement(90) },
    { given: "asks for another try", settlement: buildRetrySettlement(300) },
    { given: "is lost", settlement: { kind: "failed", settleMs: 0 } as const },
  ])("is due when an earlier invocation ends that $given", ({ settlement }) => {
    const { pending, nowMs } = edited(6);
    show(pending, 89, 7, nowMs);
    const startMs = findReadyTime(pending)?.atMs ?? 0;
    pending.start(["u"], 99, startMs);
    show(pending, 100, 7, startMs + 10, DELETING);
    pending.settle(99, [settlement], startMs + 20);
    expect(dueMs(pending, startMs + 20)).toBe(startMs + 20);
  });

  test("waits as its report asks once it was tried", () => {
    const { pending, nowMs } = edited(6);
    show(pending, 100, 7, nowMs, DELETING);
    pending.start(["u"], 99, nowMs);
    pending.settle(99, [buildRetrySettlement(30)], nowMs + 10);
    show(pending, 101, 7, nowMs + 20, DELETING);
    expect(dueMs(pending, nowMs + 20)).toBeGreaterThanOrEqual(nowMs + 30_000);
  });
});

test("a change of a Service that waits for a retry is due a second after the last try", () => {
  const pending = createPending(serviceWatch, () => 0);
  show(pending, 10, 1, 0);
  pending.start(["u"], 1, 0);
  pending.settle(1, [buildRetrySettlement(300)], 100);
  show(pending, 11, 2, 200);
  expect(dueMs(pending, 200)).toBe(1_000);
});
