import { describe, expect, test } from "vitest";
import type {
  InvocationEnd,
  InvocationLimiter,
  InvocationPermit,
  PermitRequest,
} from "#relay/delivery/invocation-limiter.ts";
import { createLimiterServer } from "#relay/workers/member.ts";
import { createRemoteLimiter } from "#relay/workers/remote-limiter.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { createFakeLimiter } from "#test/relay/workers/fake-limiter.ts";

const LONGEST_MS = 35_000;
const REQUEST: PermitRequest = {
  controller: "cloud-node-controller",
  cluster: "blue",
  quotaKey: "account",
  floorShare: 0.05,
};
const END: InvocationEnd = {
  code: undefined,
  refused: false,
  settleMs: 0,
  durationMs: 5,
  usage: { calls: 1, throttled: 1, waitedMs: 2 },
};

/** Connects two workers to one limiter; messages are copied, as between threads. */
function given(places: number) {
  const limiter = createFakeLimiter(places);
  const clock = createManualClock();
  const worker = () => {
    const remote = createRemoteLimiter((message) => {
      queueMicrotask(() => server.receive(structuredClone(message)));
    });
    const server = createLimiterServer({
      limiter,
      clock,
      longestInvocationMs: LONGEST_MS,
      send: (message) => queueMicrotask(() => remote.receive(structuredClone(message))),
    });
    return { remote, server };
  };
  return { gate: limiter, clock, one: worker(), other: worker() };
}

/** Resolves when all messages have arrived. */
const arrived = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Creates a user that takes every permit. */
function taker(limiter: InvocationLimiter): {
  readonly places: InvocationPermit[];
  readonly waiter: () => void;
  ask(): void;
} {
  const places: InvocationPermit[] = [];
  const ask = (): void => {
    const place = limiter.enter(REQUEST, ask);
    if (place !== undefined) places.push(place);
  };
  return { places, waiter: ask, ask };
}

describe("an invocation limiter in another thread", () => {
  test("gives permits asynchronously, with the share and for the right cluster", async () => {
    const { gate, one } = given(1);
    const asking = taker(one.remote);
    asking.ask();
    expect(asking.places).toEqual([]);
    await arrived();
    expect([asking.places.map(({ share }) => share), gate.entered]).toEqual([[0.25], [REQUEST]]);
  });

  test("passes on how an invocation ended", async () => {
    const { gate, one } = given(1);
    const asking = taker(one.remote);
    asking.ask();
    await arrived();
    asking.places[0]?.ended(END);
    await arrived();
    expect([gate.ended, gate.places]).toEqual([[END], 1]);
  });

  test("returns a permit that is not needed any more", async () => {
    const { gate, one } = given(1);
    one.remote.enter(REQUEST, () => {});
    await arrived();
    expect([gate.left(), gate.places]).toEqual([1, 1]);
  });

  test("is asked once for several requests of a waiter, and again for more", async () => {
    const { gate, one } = given(5);
    const asking = taker(one.remote);
    asking.ask();
    asking.ask();
    await arrived();
    expect(gate.entered).toHaveLength(1);
    asking.ask();
    await arrived();
    expect(asking.places).toHaveLength(2);
  });

  test("lets late requests wait, from any worker", async () => {
    const { gate, one, other } = given(1);
    const [first, second] = [taker(one.remote), taker(other.remote)];
    first.ask();
    await arrived();
    second.ask();
    await arrived();
    expect([first.places.length, second.places.length, gate.waiting()]).toEqual([1, 0, 1]);
    first.places[0]?.leave();
    await arrived();
    expect([second.places.length, gate.waiting()]).toEqual([1, 0]);
  });

  test("removes a waiter, also while it is being called", async () => {
    const { gate, one, other } = given(1);
    const [first, second, third] = [taker(one.remote), taker(other.remote), taker(other.remote)];
    first.ask();
    await arrived();
    second.ask();
    await arrived();
    other.remote.forget(second.waiter);
    await arrived();
    expect(gate.waiting()).toBe(0);
    first.places[0]?.leave();
    await arrived();
    third.ask();
    other.remote.forget(third.waiter);
    await arrived();
    expect([second.places, third.places, gate.places]).toEqual([[], [], 1]);
  });

  test("reports changes of the spacing between batches", async () => {
    const { gate, one, other } = given(2);
    gate.spacing = 80;
    const asking = taker(one.remote);
    asking.ask();
    await arrived();
    expect([
      one.remote.spacingMs("account"),
      one.remote.spacingMs("none"),
      other.remote.spacingMs("account"),
    ]).toEqual([80, 0, 0]);
    gate.spacing = 0;
    asking.places[0]?.ended(END);
    await arrived();
    expect(one.remote.spacingMs("account")).toBe(0);
  });
});

describe("of a dead worker", () => {
  test("drops its waiters, and returns a permit when its function has certainly ended", async () => {
    const { gate, clock, one, other } = given(1);
    const [holding, waiting, behind] = [taker(one.remote), taker(one.remote), taker(other.remote)];
    holding.ask();
    await arrived();
    waiting.ask();
    behind.ask();
    await arrived();
    await clock.advance(1_000);
    one.server.close();
    expect(gate.waiting()).toBe(1);
    await clock.advance(LONGEST_MS - 1_001);
    expect([gate.ended.length, behind.places.length]).toEqual([0, 0]);
    await clock.advance(1);
    await arrived();
    expect(gate.ended).toMatchObject([{ code: "Abandoned", refused: false, usage: undefined }]);
    expect([behind.places.length, waiting.places.length]).toEqual([1, 0]);
  });
});
