import { describe, expect, test } from "vitest";
import type { Gate, GateRequest, InvocationEnd, Place } from "#relay/delivery/gate.ts";
import { createGateServer } from "#relay/workers/gate-server.ts";
import { createRemoteGate } from "#relay/workers/remote-gate.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { createFakeGate } from "#test/relay/workers/fake-gate.ts";

const LONGEST_MS = 35_000;
const REQUEST: GateRequest = {
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

/** Two workers before one gate; messages are copied, as between threads. */
function given(places: number) {
  const gate = createFakeGate(places);
  const clock = createManualClock();
  const worker = () => {
    const remote = createRemoteGate((message) => {
      queueMicrotask(() => server.receive(structuredClone(message)));
    });
    const server = createGateServer({
      gate,
      clock,
      longestInvocationMs: LONGEST_MS,
      send: (message) => queueMicrotask(() => remote.receive(structuredClone(message))),
    });
    return { remote, server };
  };
  return { gate, clock, one: worker(), other: worker() };
}

/** Until all messages have arrived. */
const arrived = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Somebody who takes whatever he gets. */
function taker(gate: Gate): { readonly places: Place[]; readonly waiter: () => void; ask(): void } {
  const places: Place[] = [];
  const ask = (): void => {
    const place = gate.enter(REQUEST, ask);
    if (place !== undefined) places.push(place);
  };
  return { places, waiter: ask, ask };
}

describe("a gate that is asked from another thread", () => {
  test("lets in whoever asks, after a while, with the share and in the name of his own cluster", async () => {
    const { gate, one } = given(1);
    const asking = taker(one.remote);
    asking.ask();
    expect(asking.places).toEqual([]);
    await arrived();
    expect([asking.places.map(({ share }) => share), gate.entered]).toEqual([[0.25], [REQUEST]]);
  });

  test("passes on how it ended", async () => {
    const { gate, one } = given(1);
    const asking = taker(one.remote);
    asking.ask();
    await arrived();
    asking.places[0]?.ended(END);
    await arrived();
    expect([gate.ended, gate.places]).toEqual([[END], 1]);
  });

  test("gives back a place that nobody has a use for any more", async () => {
    const { gate, one } = given(1);
    one.remote.enter(REQUEST, () => {});
    await arrived();
    expect([gate.left(), gate.places]).toEqual([1, 1]);
  });

  test("asks once for whoever asks several times, and again for what he has more", async () => {
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

  test("lets those wait who come too late, whatever worker they are in", async () => {
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

  test("forgets who waits, and who was called while he was being forgotten", async () => {
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

  test("tells how far apart batches are to be, as it changes", async () => {
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
  test("nobody waits, and a place is given back when its function has certainly ended", async () => {
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
