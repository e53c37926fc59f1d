import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Holding } from "#core/service/holdings.ts";
import {
  type Amounts,
  getLimits,
  grantReservations,
  isUsable,
  LISTENERS_KEY,
  LOAD_BALANCERS_KEY,
  listReservations,
  needsListing,
  type ReservationRequest,
  type ReservationState,
} from "#core/service/load-balancer-quota.ts";
import type { LoadBalancerLimits } from "#core/service/settings.ts";
import { checkProperty } from "#test/core/check-property.ts";

const NOW = 1_000_000_000;
const ONE: Amounts = { [LOAD_BALANCERS_KEY]: 1 };
const atMost = (max: number): Amounts => ({ [LOAD_BALANCERS_KEY]: max });
const heldIn = ({ inUse: held }: ReservationState): number => held[LOAD_BALANCERS_KEY] ?? 0;
const balancers = (count: number, kind = "network load balancer"): Holding[] =>
  Array.from({ length: count }, (_, number) => ({
    kind,
    id: `lb-${number}`,
    name: "",
    service: "default/web",
  }));
const requests = (count: number, named = "uid"): ReservationRequest[] =>
  Array.from({ length: count }, (_, number) => ({
    uid: `${named}-${String(number).padStart(4, "0")}`,
    created: "2026-01-01T00:00:00Z",
    amounts: ONE,
  }));
const listed = (count: number): ReservationState => listReservations(balancers(count), undefined, NOW);

describe("reservations for load balancers", () => {
  test.each<[string, Holding[], number]>([
    ["load balancers of each kind", [...balancers(2), ...balancers(1, "classic load balancer")], 3],
    ["two load balancers with one name as two", balancers(2), 2],
    [
      "no target group and no security group",
      [...balancers(1, "target group"), ...balancers(1, "security group")],
      0,
    ],
    [
      "no security group that all load balancers share",
      balancers(1, "security group of all network load balancers"),
      0,
    ],
    ["no part of a load balancer", [{ kind: "network load balancer", id: "a", name: "", isPart: true }], 0],
  ])("count %s", (_, holdings, held) => {
    expect(heldIn(listReservations(holdings, undefined, NOW))).toBe(held);
  });

  test.each<[string, number, number, number, number, boolean]>([
    ["all of 40 requests with a new listing", 0, 100, 0, 40, false],
    ["half of the free load balancers", 0, 100, 0, 50, false],
    ["the last free load balancer", 99, 100, 0, 1, false],
    ["none if all are taken", 100, 100, 0, 0, true],
    ["none beyond a lowered maximum", 100, 5, 0, 0, true],
    ["none if the maximum is 0", 0, 0, 0, 0, true],
    ["a sixteenth with a listing of five seconds ago", 0, 100, 5_000, 6, false],
    ["none of 10 free load balancers with a listing of five seconds ago", 90, 100, 5_000, 0, false],
  ])("grant %s", (_, held, max, ageMs, granted, isFull) => {
    const asked = requests(granted === 40 ? 40 : 100);
    const { reservations: places } = grantReservations(asked, listed(held), {
      limits: atMost(max),
      nowMs: NOW + ageMs,
    });
    expect([places.granted.size, places.rejected.size]).toEqual([granted, isFull ? asked.length : 0]);
  });

  test("are granted to older Services first, and again to one that had a grant", () => {
    const [young = "", old = ""] = ["young", "old"];
    const asked = [
      { uid: young, created: "2026-02-01T00:00:00Z", amounts: ONE },
      { uid: old, created: "2026-01-01T00:00:00Z", amounts: ONE },
    ];
    const first = grantReservations(asked, listed(9), { limits: atMost(10), nowMs: NOW });
    expect([...first.reservations.granted]).toEqual(["old"]);
    const again = grantReservations(asked, first.state, { limits: atMost(10), nowMs: NOW + 1_000 });
    expect([...again.reservations.granted]).toEqual(["old"]);
  });

  test("hold a grant until a listing can show it, and no longer", () => {
    const { state } = grantReservations(requests(2, "a0000000-0000-0000-0000"), listed(0), {
      limits: atMost(4),
      nowMs: NOW,
    });
    expect(heldIn(listReservations([], state, NOW + 59_000))).toBe(2);
    expect(heldIn(listReservations([], state, NOW + 60_000))).toBe(0);
    const shown = [{ kind: "load balancer", id: "x", name: "", uid: "a00000000000000000000000" }];
    // The visible one, and the other.
    expect(heldIn(listReservations(shown, state, NOW + 1_000))).toBe(2);
    expect(heldIn(listReservations(balancers(1), state, NOW + 1_000))).toBe(3);
  });

  test("do not hold a grant longer because it is requested again", () => {
    const asked = requests(1);
    const grantAt = (state: ReservationState, ms: number): ReservationState =>
      grantReservations(asked, state, { limits: atMost(4), nowMs: NOW + ms }).state;
    const state = grantAt(grantAt(listed(0), 0), 50_000);
    expect(heldIn(listReservations([], state, NOW + 60_000))).toBe(0);
  });

  test("a listing expires, also when the clock is set back", () => {
    expect([0, 599_999, 600_000, -1].map((ms) => isUsable(listed(0), NOW + ms))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    const again = (isFull: boolean, ms: number) => needsListing(listed(0), { isFull, nowMs: NOW + ms });
    expect([
      again(false, 1_999),
      again(false, 2_000),
      again(true, 2_000),
      again(true, 10_000),
      again(false, -1),
    ]).toEqual([false, true, false, true, true]);
    expect(needsListing(undefined, { isFull: true, nowMs: NOW })).toBe(true);
  });

  test("two processes together never exceed the quota, whenever they ask", () => {
    const step = fc.record({
      process: fc.nat(1),
      seconds: fc.nat(700),
      asked: fc.integer({ min: 1, max: 60 }),
    });
    checkProperty([fc.integer({ min: 0, max: 120 }), fc.array(step, { maxLength: 40 })], (max, steps) => {
      const made = new Set<string>();
      const states: (ReservationState | undefined)[] = [undefined, undefined];
      let nowMs = NOW;
      let named = 0;
      for (const { process, seconds, asked } of steps) {
        nowMs += seconds * 1_000;
        const wanted = requests(asked, `uid-${named++}`);
        const known = states[process];
        const isOld = !isUsable(known, nowMs) || needsListing(known, { isFull: heldIn(known) >= max, nowMs });
        const state = isOld ? listReservations(balancers(made.size), known, nowMs) : known;
        const { reservations: places, state: next } = grantReservations(wanted, state, {
          limits: atMost(max),
          nowMs,
        });
        states[process] = next;
        for (const uid of places.granted) made.add(uid);
        expect(made.size).toBeLessThanOrEqual(max);
      }
    });
  });
});

describe("the limits of a cluster", () => {
  const NETWORK = "network load balancer";
  const CLASSIC = "classic load balancer";
  const QUOTAS = { [NETWORK]: 50, [CLASSIC]: 20, [LISTENERS_KEY]: 3_000 };
  const limits = (all: number, listeners: number, kinds: Amounts = {}): Amounts => ({
    [LOAD_BALANCERS_KEY]: all,
    [LISTENERS_KEY]: listeners,
    ...kinds,
  });

  test.each<[string, LoadBalancerLimits, Amounts | undefined, number | undefined, Amounts]>([
    ["the defaults without configuration and quotas", {}, undefined, undefined, limits(100, 1_000)],
    ["the account's quotas", {}, QUOTAS, undefined, limits(100, 1_000, { [NETWORK]: 50, [CLASSIC]: 20 })],
    [
      "a quarter of the quotas in a fleet of four clusters",
      {},
      QUOTAS,
      4,
      limits(100, 750, { [NETWORK]: 12, [CLASSIC]: 5 }),
    ],
    [
      "at least one load balancer of each kind",
      {},
      QUOTAS,
      5_000,
      limits(100, 1, { [NETWORK]: 1, [CLASSIC]: 1 }),
    ],
    ["0 for a kind whose quota is 0", {}, { [CLASSIC]: 0 }, 3, limits(100, 1_000, { [CLASSIC]: 0 })],
    [
      "no more than 100 under a large quota",
      {},
      { [NETWORK]: 900 },
      1,
      limits(100, 1_000, { [NETWORK]: 900 }),
    ],
    ["loadBalancers.max as configured, whatever the quotas", { max: 200 }, QUOTAS, 4, limits(200, 2_000)],
    ["at least the ports of one network load balancer", { max: 2 }, undefined, undefined, limits(2, 50)],
    [
      "loadBalancers.maxPorts as configured",
      { maxPorts: 7 },
      QUOTAS,
      400,
      limits(100, 7, { [NETWORK]: 1, [CLASSIC]: 1 }),
    ],
  ])("are %s", (_, settings, quotas, clusters, expected) => {
    expect(getLimits(settings, quotas, clusters)).toEqual(expected);
  });

  test("an exhausted kind leaves the other kind its quota", () => {
    const state = listReservations(balancers(5, CLASSIC), undefined, NOW);
    const asked = [CLASSIC, NETWORK].map((kind) => ({
      uid: kind,
      created: "2026-01-01T00:00:00Z",
      amounts: { ...ONE, [kind]: 1 },
    }));
    const { reservations: places } = grantReservations(asked, state, {
      limits: getLimits({}, QUOTAS, 4),
      nowMs: NOW,
    });
    expect([...places.granted]).toEqual([NETWORK]);
    expect([...places.rejected]).toEqual([[CLASSIC, { name: CLASSIC, limit: 5 }]]);
  });
});

describe("ports of all load balancers", () => {
  const limits = { [LISTENERS_KEY]: 20 };
  const asking = (uid: string, listeners: number, isNew = false): ReservationRequest => ({
    uid,
    created: "2026-01-01T00:00:00Z",
    amounts: { ...(isNew ? ONE : {}), [LISTENERS_KEY]: listeners },
  });
  const state = (listeners: number): ReservationState =>
    listReservations([{ kind: "load balancer", id: "a", name: "", listeners }], undefined, NOW);

  test.each<[string, number, number, number, string]>([
    ["ports that fit", 10, 4, 0, "granted"],
    ["more than half of the free ports to the first Service", 0, 20, 0, "granted"],
    ["ports beyond the maximum", 10, 11, 0, "full"],
    ["a port if all are taken", 25, 1, 0, "full"],
    ["many ports with a listing of five seconds ago", 0, 2, 5_000, "open"],
    ["a sixteenth with a listing of five seconds ago", 4, 1, 5_000, "granted"],
  ])("$0: $4", (_, held, asked, ageMs, expected) => {
    const { reservations: places } = grantReservations([asking("b", asked)], state(held), {
      limits,
      nowMs: NOW + ageMs,
    });
    const outcome = places.granted.has("b") ? "granted" : places.rejected.has("b") ? "full" : "open";
    expect(outcome).toBe(expected);
  });

  test("a second Service waits after a first one's grant, and nothing is granted twice to one", () => {
    const both = [asking("b", 12), asking("c", 5)];
    const first = grantReservations(both, state(0), { limits, nowMs: NOW });
    expect([...first.reservations.granted]).toEqual(["b"]);
    const again = grantReservations([asking("b", 12), asking("c", 9)], first.state, { limits, nowMs: NOW });
    expect([...again.reservations.granted]).toEqual(["b"]);
    expect([...again.reservations.rejected.keys()]).toEqual(["c"]);
  });

  test("are reserved until a listing shows them, with their load balancer or later", () => {
    const { state: granted } = grantReservations([asking("a0000000", 6, true)], state(0), {
      limits,
      nowMs: NOW,
    });
    const heldWith = (listeners: number, ms = 1_000): number | undefined => {
      const shown = { kind: "load balancer", id: "a0000000", name: "", listeners };
      return listReservations([shown], granted, NOW + ms).inUse[LISTENERS_KEY];
    };
    expect([heldWith(0), heldWith(2), heldWith(6), heldWith(0, 60_000)]).toEqual([6, 6, 6, 0]);
  });

  test("of an existing load balancer are all reserved for a minute, besides those that a listing shows", () => {
    const { state: granted } = grantReservations([asking("a0000000", 6)], state(0), { limits, nowMs: NOW });
    const shown = { kind: "load balancer", id: "a0000000", name: "", listeners: 4 };
    const heldAfter = (ms: number) => listReservations([shown], granted, NOW + ms).inUse[LISTENERS_KEY];
    expect([heldAfter(1_000), heldAfter(60_000)]).toEqual([10, 4]);
  });
});
