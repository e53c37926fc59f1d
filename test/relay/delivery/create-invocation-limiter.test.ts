import { describe, expect, test } from "vitest";
import { ABANDONED } from "#platforms/invoker.ts";
import { createInvocationLimiter } from "#relay/delivery/create-invocation-limiter.ts";
import type { InvocationEnd, InvocationPermit, PermitRequest } from "#relay/delivery/invocation-limiter.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

const GOOD: InvocationEnd = {
  code: undefined,
  refused: false,
  settleMs: 0,
  durationMs: 100,
  usage: { calls: 1, throttled: 0, waitedMs: 0 },
};
const CRASHED: InvocationEnd = { ...GOOD, code: "FunctionError", usage: undefined };
const nothing = (): void => {};

/** Starts a limiter whose function already accepts this many. */
async function start(level = 40) {
  const clock = createManualClock();
  const limiter = createInvocationLimiter({ clock, random: () => 0.5 });
  const request = (cluster: string, more: Partial<PermitRequest> = {}): PermitRequest => ({
    controller: "cloud-node-controller",
    cluster,
    quotaKey: "account",
    floorShare: 0.05,
    ...more,
  });
  const climbed: InvocationPermit[] = [];
  const climb = (): void => {
    while (climbed.length < level) {
      const place = limiter.enter(request(`climber-${climbed.length}`, { quotaKey: "climbers" }), climb);
      if (place === undefined) return;
      climbed.push(place);
    }
  };
  climb();
  while (climbed.length < level) await clock.advance(25);
  for (const place of climbed) place.ended(GOOD);
  /** Requests this many permits and returns the given ones, without waiting. */
  const enter = (count: number, cluster: string): readonly InvocationPermit[] => {
    const places = Array.from({ length: count }, () => limiter.enter(request(cluster), nothing));
    limiter.forget(nothing);
    return places.filter((place) => place !== undefined);
  };
  return { clock, gate: limiter, request, enter };
}

describe("the room of an account", () => {
  test("is for the first invocation of every cluster, and for as many more as the quotas have parts", async () => {
    const { enter } = await start();
    const had = ["a", "b", "c", "d"].map((name) => enter(10, name).length);
    expect(had).toEqual([10, 10, 3, 1]);
  });

  test("goes to waiters when an invocation ends, and to no other", async () => {
    const { gate, request, enter } = await start();
    const places = enter(21, "a");
    const called: string[] = [];
    const forgets = (): void => void called.push("forgets");
    for (const name of ["b", "c", "d"]) enter(1, name);
    gate.enter(request("b"), () => void called.push("waits"));
    gate.enter(request("c"), forgets);
    gate.forget(forgets);
    for (const place of places.slice(0, 4)) place.ended(GOOD);
    expect(called).toEqual(["waits"]);
  });

  test("returns once, however often a permit is returned", async () => {
    const { enter } = await start();
    const [first] = enter(21, "a");
    first?.ended(GOOD);
    first?.ended(GOOD);
    first?.leave();
    expect([enter(2, "a").length, enter(2, "b").length]).toEqual([1, 1]);
  });

  test("is separate: another account's shares and spacing do not change", async () => {
    const { gate, request } = await start();
    gate.enter(request("a"), nothing)?.ended({ ...GOOD, usage: { calls: 1, throttled: 1, waitedMs: 0 } });
    expect(gate.enter(request("a"), nothing)?.share).toBe(0.5);
    expect(gate.enter(request("b", { quotaKey: "other" }), nothing)?.share).toBe(1);
    expect([gate.spacingMs("account"), gate.spacingMs("other")]).toEqual([50, 0]);
  });
});

describe("among waiters for room", () => {
  /**
   * Returns in which order clusters get a permit if each has one in flight and wants another while the
   * account is full.
   */
  const orderAfter = async (used: Readonly<Record<string, number>>, pauseMs = 0) => {
    const { clock, gate, request, enter } = await start();
    for (const [name, seconds] of Object.entries(used))
      for (let second = 0; second < seconds; second += 1)
        for (const place of enter(1, name)) place.ended({ ...GOOD, durationMs: 1_000 });
    await clock.advance(pauseMs);
    const full = enter(21, "full");
    const order: string[] = [];
    for (const name of Object.keys(used)) {
      enter(1, name);
      const waiter = (): void => {
        if (gate.enter(request(name), waiter) !== undefined) order.push(name);
      };
      waiter();
    }
    for (const place of full.slice(0, order.length + 3)) place.ended(GOOD);
    return order;
  };

  test.each([
    { given: "have taken the same", used: { a: 0, b: 0, c: 0 }, order: ["a", "b", "c"] },
    { given: "have taken different amounts", used: { a: 9, b: 3, c: 6 }, order: ["b", "c", "a"] },
  ])("and $given, the cluster that used least is first", async ({ used, order }) => {
    expect(await orderAfter(used)).toEqual(order);
  });

  test("use of long ago does not count", async () => {
    expect(await orderAfter({ a: 30, b: 3, c: 3 }, 1_800_000)).toEqual(["a", "b", "c"]);
  });

  test("no cluster waits for another cluster's function", async () => {
    const { clock, gate, request } = await start();
    const other = { controller: "certificate-signing-request-approver" } as const;
    gate.enter(request("a", other), nothing)?.ended({ ...GOOD, code: "Denied", refused: true });
    const called: string[] = [];
    expect(gate.enter(request("a", other), () => void called.push("denied"))).toBeUndefined();
    expect(gate.enter(request("a"), nothing)).toBeDefined();
    expect(gate.enter(request("b"), nothing)).toBeDefined();
    expect(called).toEqual([]);
    await clock.advance(5_000);
    expect(called).toEqual(["denied"]);
  });
});

describe("a cluster", () => {
  /** Returns how many the cluster may have in flight. */
  const slots = (enter: Awaited<ReturnType<typeof start>>["enter"]): number => {
    const places = enter(4, "a");
    for (const place of places) place.leave();
    return places.length;
  };

  test.each([
    { given: "crash", end: CRASHED, may: 1 },
    { given: "run out of time", end: { ...CRASHED, code: "TimedOut", settleMs: 1_000 }, may: 1 },
    { given: "send no report", end: { ...CRASHED, code: "BadReport" }, may: 1 },
    {
      given: "lose their answer after a while",
      end: { ...CRASHED, code: "Unreachable", settleMs: 9_000 },
      may: 1,
    },
    { given: "take 6 s", end: { ...GOOD, durationMs: 6_000 }, may: 1 },
    { given: "are given up after 6 s", end: { ...CRASHED, code: ABANDONED, durationMs: 6_000 }, may: 1 },
    { given: "are given up", end: { ...CRASHED, code: ABANDONED }, may: 4 },
    { given: "take 4 s", end: { ...GOOD, durationMs: 4_000 }, may: 4 },
  ])("may have $may at a time if its invocations $given", async ({ end, may }) => {
    const { clock, gate, enter } = await start();
    const places = enter(4, "a");
    await clock.advance(4_000);
    for (const place of places) place.ended(end);
    expect(slots(enter)).toBe(may);
    expect(gate.status().slowedClusters).toEqual(may === 1 ? ["a"] : []);
    expect(enter(4, "b")).toHaveLength(4);
  });

  test("gets no second permit while a slow invocation is out", async () => {
    const { clock, enter } = await start();
    const [one] = enter(1, "a");
    await clock.advance(5_001);
    expect(enter(1, "a")).toHaveLength(0);
    one?.ended(GOOD);
    expect(slots(enter)).toBe(4);
  });

  test("is called when its invocation ends, whichever of its controllers waits", async () => {
    const { gate, request, enter } = await start();
    for (const place of enter(1, "a")) place.ended(CRASHED);
    const [one] = enter(1, "a");
    const called: string[] = [];
    for (const controller of ["cloud-node-controller", "certificate-signing-request-approver"])
      gate.enter(request("a", { controller }), () => void called.push(controller));
    expect(called).toEqual([]);
    one?.ended(CRASHED);
    expect(called).toEqual(["cloud-node-controller", "certificate-signing-request-approver"]);
  });

  test("has its permits again after one quick and good invocation, and after two following a relapse", async () => {
    const { enter } = await start();
    const one = (end: InvocationEnd): void => {
      for (const place of enter(1, "a")) place.ended(end);
    };
    one(CRASHED);
    expect(slots(enter)).toBe(1);
    one(GOOD);
    expect(slots(enter)).toBe(4);
    one(CRASHED);
    one(GOOD);
    expect(slots(enter)).toBe(1);
    one(GOOD);
    expect(slots(enter)).toBe(4);
  });

  test("is forgiven after a minute without failures", async () => {
    const { clock, gate, enter } = await start();
    for (const place of enter(1, "a")) place.ended(CRASHED);
    await clock.advance(59_000);
    expect(slots(enter)).toBe(1);
    await clock.advance(1_000);
    expect(slots(enter)).toBe(4);
    expect(gate.status().slowedClusters).toEqual([]);
  });
});

test("the limiter reports its state", async () => {
  const { gate, request, enter } = await start();
  enter(2, "a");
  expect(gate.status()).toEqual({
    waiting: 0,
    slowedClusters: [],
    platformOpen: false,
    functions: { "cloud-node-controller": { inFlight: 2, places: expect.any(Number), open: false } },
  });
  const other = request("b", { controller: "certificate-signing-request-approver" });
  gate.enter(other, nothing)?.ended({ ...GOOD, code: "Unreachable", refused: true });
  gate.enter(request("c"), () => {});
  gate.enter(other, () => {});
  expect(gate.status()).toMatchObject({
    waiting: 2,
    platformOpen: true,
    functions: {
      "cloud-node-controller": { inFlight: 2, open: true },
      "certificate-signing-request-approver": { inFlight: 0, open: true },
    },
  });
});

test("the limiter forgets what is long over, but nothing in flight or waiting", async () => {
  const { clock, gate, request, enter } = await start();
  const throttle = (quotaKey: string): void =>
    gate
      .enter(request("a", { quotaKey }), nothing)
      ?.ended({ ...GOOD, usage: { calls: 1, throttled: 1, waitedMs: 0 } });
  for (const quotaKey of ["over", "in flight", "account"]) throttle(quotaKey);
  gate.enter(request("b", { quotaKey: "in flight" }), nothing);
  for (const place of enter(4, "waits").slice(1)) place.ended(CRASHED);
  let called = 0;
  gate.enter(request("waits"), () => {
    called += 1;
  });
  await clock.advance(3_600_000);
  for (const place of enter(1, "another")) place.ended(GOOD);
  expect(["over", "in flight", "account"].map((key) => gate.spacingMs(key))).toEqual([0, 50, 48.5]);
  expect([called, gate.status().waiting]).toEqual([0, 1]);
});

test.each<[string, number, number]>([
  ["the clusters of a process that has the account to itself", 1, 3],
  ["as many more as other replicas have", 0.25, 12],
  ["its own if it has nothing of the account now", 0, 3],
])("a permit tells how many clusters use the account: %s", (_, part, expected) => {
  const limiter = createInvocationLimiter({
    clock: createManualClock(),
    random: () => 0.5,
    partOf: () => part,
  });
  const counts = ["a", "b", "b", "c"].map((cluster) => {
    const request = { controller: "cloud-node-controller", cluster, floorShare: 0.05 };
    limiter.enter({ ...request, cluster: `other-${cluster}`, quotaKey: "other" }, nothing)?.ended(GOOD);
    const place = limiter.enter({ ...request, quotaKey: "account" }, nothing);
    place?.ended(GOOD);
    return place?.accountClusters;
  });
  expect(counts.at(-1)).toBe(expected);
});
