import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Holding } from "#core/service/holdings.ts";
import {
  grantPlaces,
  isUsable,
  listPlaces,
  needsListing,
  type PlaceRequest,
  type PlaceState,
} from "#core/service/places.ts";
import { given } from "#test/core/given.ts";

const NOW = 1_000_000_000;
const balancers = (count: number, kind = "network load balancer"): Holding[] =>
  Array.from({ length: count }, (_, number) => ({
    kind,
    id: `lb-${number}`,
    name: "",
    service: "default/web",
  }));
const requests = (count: number, named = "uid"): PlaceRequest[] =>
  Array.from({ length: count }, (_, number) => ({
    uid: `${named}-${String(number).padStart(4, "0")}`,
    created: "2026-01-01T00:00:00Z",
  }));
const listed = (count: number): PlaceState => listPlaces(balancers(count), undefined, NOW);

describe("places for load balancers", () => {
  test.each<[string, Holding[], number]>([
    ["load balancers of either kind", [...balancers(2), ...balancers(1, "classic load balancer")], 3],
    ["two of one Service's name as two", balancers(2), 2],
    [
      "no target group and no security group",
      [...balancers(1, "target group"), ...balancers(1, "security group")],
      0,
    ],
    [
      "no group that all load balancers share",
      balancers(1, "security group of all network load balancers"),
      0,
    ],
    ["no part of one", [{ kind: "network load balancer", id: "a", name: "", isPart: true }], 0],
  ])("counts %s", (_, holdings, held) => {
    expect(listPlaces(holdings, undefined, NOW).held).toBe(held);
  });

  test.each<[string, number, number, number, number, boolean]>([
    ["all of a few on a new listing", 0, 100, 0, 40, false],
    ["half of what is free", 0, 100, 0, 50, false],
    ["the last one", 99, 100, 0, 1, false],
    ["none where all are taken", 100, 100, 0, 0, true],
    ["none beyond a maximum that was lowered", 100, 5, 0, 0, true],
    ["none where the maximum is none", 0, 0, 0, 0, true],
    ["a sixteenth on a listing of before", 0, 100, 5_000, 6, false],
    ["none of a few on a listing of before", 90, 100, 5_000, 0, false],
  ])("grants %s", (_, held, max, ageMs, granted, isFull) => {
    const asked = requests(granted === 40 ? 40 : 100);
    const { places } = grantPlaces(asked, listed(held), { max, nowMs: NOW + ageMs });
    expect([places.granted.size, places.isFull]).toEqual([granted, isFull]);
  });

  test("grants older Services first, and one that was granted again", () => {
    const [young = "", old = ""] = ["young", "old"];
    const asked = [
      { uid: young, created: "2026-02-01T00:00:00Z" },
      { uid: old, created: "2026-01-01T00:00:00Z" },
    ];
    const first = grantPlaces(asked, listed(9), { max: 10, nowMs: NOW });
    expect([...first.places.granted]).toEqual(["old"]);
    const again = grantPlaces(asked, first.state, { max: 10, nowMs: NOW + 1_000 });
    expect([...again.places.granted]).toEqual(["old"]);
  });

  test("holds what was granted until a listing can show it, and no longer", () => {
    const { state } = grantPlaces(requests(2, "a0000000-0000-0000-0000"), listed(0), { max: 4, nowMs: NOW });
    expect(listPlaces([], state, NOW + 59_000).held).toBe(2);
    expect(listPlaces([], state, NOW + 60_000).held).toBe(0);
    const shown = [{ kind: "load balancer", id: "x", name: "", uid: "a00000000000000000000000" }];
    // The one that it shows, and the other.
    expect(listPlaces(shown, state, NOW + 1_000).held).toBe(2);
    expect(listPlaces(balancers(1), state, NOW + 1_000).held).toBe(3);
  });

  test("a listing has its time, and a clock that was set back ends it", () => {
    expect([0, 599_999, 600_000, -1].map((ms) => isUsable(listed(0), NOW + ms))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    const again = (held: number, ms: number) => needsListing(listed(held), { max: 5, nowMs: NOW + ms });
    expect([again(0, 1_999), again(0, 2_000), again(5, 2_000), again(5, 10_000), again(0, -1)]).toEqual([
      false,
      true,
      false,
      true,
      true,
    ]);
    expect(needsListing(undefined, { max: 5, nowMs: NOW })).toBe(true);
  });

  test("two processes that ask at any time make no more than there are places", () => {
    const step = fc.record({
      process: fc.nat(1),
      seconds: fc.nat(700),
      asked: fc.integer({ min: 1, max: 60 }),
    });
    given([fc.integer({ min: 0, max: 120 }), fc.array(step, { maxLength: 40 })], (max, steps) => {
      const made = new Set<string>();
      const states: (PlaceState | undefined)[] = [undefined, undefined];
      let nowMs = NOW;
      let named = 0;
      for (const { process, seconds, asked } of steps) {
        nowMs += seconds * 1_000;
        const wanted = requests(asked, `uid-${named++}`);
        const known = states[process];
        const isOld = !isUsable(known, nowMs) || needsListing(known, { max, nowMs });
        const state = isOld ? listPlaces(balancers(made.size), known, nowMs) : known;
        const { places, state: next } = grantPlaces(wanted, state, { max, nowMs });
        states[process] = next;
        for (const uid of places.granted) made.add(uid);
        expect(made.size).toBeLessThanOrEqual(max);
      }
    });
  });
});
