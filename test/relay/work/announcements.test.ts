import { describe, expect, test } from "vitest";
import { nodeClaimWatch } from "#core/look-ahead/watch.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { observe } from "#relay/work/apply-observed.ts";
import { createPending, type Pending } from "#relay/work/pending.ts";
import { buildKey } from "#test/relay/work/pending-builders.ts";

function createClaims(): Pending {
  return createPending(nodeClaimWatch, () => 0);
}

function show(pending: Pending, version: number, status: object, nowMs: number): void {
  const metadata = { ...buildKey(version), creationTimestamp: "2026-01-01T00:00:00Z" };
  const context = { labelPrefixes: [], settings: DEFAULT_SETTINGS };
  const observed = observe(nodeClaimWatch, { metadata, status }, context);
  if (observed.kind === "malformed") throw new Error(JSON.stringify(observed.faults));
  pending.applied(observed, buildKey(version), nowMs);
}

function settle(pending: Pending, invocation: number, outcome: "unchanged" | "retry", nowMs: number): void {
  pending.start(["u"], invocation, nowMs);
  const because = { code: "Test", message: "" };
  const report = { index: 0, name: "u", uid: "u", outcome, because, afterSeconds: 1 };
  pending.settle(invocation, [{ kind: "report", report }], nowMs);
}

const isReady = (pending: Pending): boolean => pending.queue("look").ready > 0;

describe("an announcement", () => {
  test("is resynced when its text appears and when it changes, with the reason watch", () => {
    const pending = createClaims();
    const seen: boolean[] = [];
    for (const [version, status] of [
      {},
      { providerID: "a" },
      { providerID: "a", more: 1 },
      { providerID: "b" },
    ].entries()) {
      show(pending, version + 1, status, version);
      seen.push(isReady(pending));
      if (!isReady(pending)) continue;
      expect([...pending.ready("look")].map(({ resyncReason }) => resyncReason)).toEqual(["watch"]);
      settle(pending, version + 1, "unchanged", version);
    }
    expect(seen).toEqual([false, true, false, true]);
  });

  test("is no work that is needed", () => {
    const pending = createClaims();
    show(pending, 1, { providerID: "a" }, 0);
    expect(pending.counts()).toMatchObject({ needed: 0, objects: 1 });
  });

  test("that changes while it is in flight follows", () => {
    const pending = createClaims();
    show(pending, 1, { providerID: "a" }, 0);
    pending.start(["u"], 1, 0);
    show(pending, 2, { providerID: "b" }, 1);
    expect(isReady(pending)).toBe(false);
    const report = {
      index: 0,
      name: "u",
      uid: "u",
      outcome: "unchanged",
      because: { code: "Test", message: "" },
    } as const;
    pending.settle(1, [{ kind: "report", report }], 2);
    expect(isReady(pending)).toBe(true);
  });

  test("that cannot be answered is tried three times", () => {
    const pending = createClaims();
    show(pending, 1, { providerID: "a" }, 0);
    let tries = 0;
    for (let nowMs = 0; nowMs < 600_000; nowMs += 1_000) {
      pending.advance(nowMs);
      if (!isReady(pending)) continue;
      tries += 1;
      settle(pending, tries, "retry", nowMs);
    }
    expect(tries).toBe(3);
  });
});
