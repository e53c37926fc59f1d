import { describe, expect, test } from "vitest";
import { ClusterWrite } from "#core/decision.ts";
import { buildRenewal, parseLeaseState, STALE_AFTER_MS } from "#core/relay-lease.ts";

const NOW = new Date("2026-01-01T00:10:00Z");
const HOLDER = "serverless-ccm-relay";
const renewed = (renewTime: unknown, holderIdentity: unknown = HOLDER) => ({
  spec: { holderIdentity, renewTime },
});
const ago = (ms: number) => renewed(new Date(NOW.getTime() - ms).toISOString());

describe("the state of a Lease", () => {
  test.each([
    ["renewed just now is fresh", ago(0), { kind: "fresh", ageMs: 0 }],
    ["renewed 119 s ago is fresh", ago(119_000), { kind: "fresh", ageMs: 119_000 }],
    ["renewed by a clock that is ahead is fresh", ago(-30_000), { kind: "fresh", ageMs: 0 }],
    [
      "renewed with microseconds is fresh",
      renewed("2026-01-01T00:09:30.000000Z"),
      { kind: "fresh", ageMs: 30_000 },
    ],
    ["renewed 120 s ago is stale", ago(STALE_AFTER_MS), { kind: "stale", ageMs: STALE_AFTER_MS }],
    ["never renewed is stale", { spec: { holderIdentity: HOLDER } }, { kind: "stale" }],
    ["with renewTime null is stale", renewed(null), { kind: "stale" }],
  ])("%s", (_, lease, state) => {
    expect(parseLeaseState(lease, NOW)).toEqual(state);
  });

  test.each([
    ["renewed in the year 2999", renewed("2999-01-01T00:00:00Z")],
    ["renewed at an invalid time", renewed("soon")],
    ["renewed at a number", renewed(1)],
    ["renewed at a text of 1 MB", renewed("2".repeat(1_000_000))],
    ["of another holder", renewed("2026-01-01T00:10:00Z", "another")],
    ["without a spec", {}],
    ["that is null", null],
    ["that is a string", "Lease"],
  ])("a Lease %s is malformed", (_, lease) => {
    expect(parseLeaseState(lease, NOW)).toMatchObject({ kind: "unreadable", message: expect.any(String) });
  });
});

test("a renewal is one guarded write of one Lease, and makes it fresh", () => {
  const write = buildRenewal(NOW);
  expect(ClusterWrite.parse(write)).toEqual(write);
  expect(write).toMatchObject({ namespace: "kube-system", name: HOLDER, resource: "leases", verb: "patch" });
  expect(write.precondition).toEqual([{ op: "test", path: "/spec/holderIdentity", value: HOLDER }]);
  expect(write.patch).toEqual([{ op: "add", path: "/spec/renewTime", value: "2026-01-01T00:10:00.000000Z" }]);
  expect(parseLeaseState(renewed("2026-01-01T00:10:00.000000Z"), NOW)).toEqual({ kind: "fresh", ageMs: 0 });
});
