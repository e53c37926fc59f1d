import { describe, expect, test } from "vitest";
import { createLiveReplicas, LEASE_MS, LONG_SILENT_MS } from "#relay/sharding/lease-membership.ts";

type Step = readonly [atMs: number, what: "own" | "left" | string];

/** Returns whether replica b lives after a renewal at 0 and these steps. */
function after(steps: readonly Step[]): boolean {
  const live = createLiveReplicas();
  live.saw("b", { renewal: "first", version: "1" }, 0);
  for (const [atMs, what] of steps) {
    if (what === "own") live.ownCameBack(atMs);
    else if (what === "left") live.left("b");
    else live.saw("b", { renewal: what, version: "2" }, atMs);
  }
  return live.names().includes("b");
}

const own = (...atMs: readonly number[]): Step[] => atMs.map((each) => [each, "own"]);

describe("another replica", () => {
  test.each<[string, boolean, readonly Step[]]>([
    ["that has only been seen lives", true, []],
    ["that is silent for less than its Lease lives", true, own(1_500, 3_000, 4_500, LEASE_MS)],
    ["that is silent for longer is gone", false, own(1_500, 3_000, 4_500, LEASE_MS + 1)],
    ["that renews lives", true, [...own(1_500, 3_000), [4_000, "second"], ...own(5_500, 7_000, 8_500)]],
    [
      "that writes something else into its Lease is gone all the same",
      false,
      [...own(1_500, 3_000), [4_000, "first"], ...own(5_500, 7_000)],
    ],
    ["lives while no replica can renew, for any time", true, own(600_000, 601_500, 603_000)],
    ["that does not renew when all can again is gone", false, own(600_000, 601_500, 603_000, 604_500)],
    ["that leaves is gone at once", false, [[1_000, "left"]]],
    ["that comes back lives", true, [...own(1_500, 3_000, 4_500, 6_000), [7_000, "second"], ...own(7_500)]],
  ])("%s", (_, lives, steps) => {
    expect(after(steps)).toBe(lives);
  });

  test("that has been gone for long leaves an unneeded Lease, at the version that was last seen", () => {
    const live = createLiveReplicas();
    live.saw("b", { renewal: "first", version: "1" }, 0);
    live.saw("b", { renewal: "first", version: "7" }, 10);
    expect(live.longSilent(LONG_SILENT_MS + 1)).toBeUndefined();
    for (const atMs of [2_000, 4_000, 6_000, 8_000]) live.ownCameBack(atMs);
    expect(live.longSilent(LONG_SILENT_MS)).toBeUndefined();
    expect(live.longSilent(LONG_SILENT_MS + 1)).toEqual({ name: "b", version: "7" });
    live.left("b");
    expect(live.longSilent(LONG_SILENT_MS + 1)).toBeUndefined();
  });
});
