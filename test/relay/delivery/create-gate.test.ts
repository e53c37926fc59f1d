import { describe, expect, test } from "vitest";
import { createGate } from "#relay/delivery/create-gate.ts";
import type { GateRequest, InvocationEnd, Place } from "#relay/delivery/gate.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

const GOOD: InvocationEnd = {
  code: undefined,
  refused: false,
  settleMs: 0,
  durationMs: 100,
  usage: { throttled: 0, waitedMs: 0 },
};
const nothing = (): void => {};

/** A gate whose function takes so many at a time already. */
async function start(level = 30) {
  const clock = createManualClock();
  const gate = createGate({ clock, random: () => 0.5 });
  const request = (cluster: string, more: Partial<GateRequest> = {}): GateRequest => ({
    controller: "cloud-node-controller",
    cluster,
    quotaKey: "account",
    floorShare: 0.05,
    ...more,
  });
  const climbed: Place[] = [];
  const climb = (): void => {
    while (climbed.length < level) {
      const place = gate.enter(request(`climber-${climbed.length}`, { quotaKey: "climbers" }), climb);
      if (place === undefined) return;
      climbed.push(place);
    }
  };
  climb();
  while (climbed.length < level) await clock.advance(25);
  for (const place of climbed) place.ended(GOOD);
  return { clock, gate, request };
}

describe("the room of an account", () => {
  test("is for one of every cluster, and for a second only while there are parts of the quotas", async () => {
    const { gate, request } = await start();
    const places = Array.from({ length: 20 }, (_, index) => gate.enter(request(`c${index}`), nothing));
    expect(places.every((place) => place !== undefined)).toBe(true);
    const [first, second] = [0, 1].map(() => gate.enter(request("x"), nothing));
    expect([first === undefined, second === undefined]).toEqual([false, true]);
  });

  test("is given to those that wait as one comes back, and to nobody else", async () => {
    const { gate, request } = await start();
    const places = Array.from({ length: 20 }, () => gate.enter(request("a"), nothing));
    const called: string[] = [];
    const forgets = (): void => void called.push("forgets");
    for (const name of ["b", "c", "d"]) gate.enter(request(name), nothing);
    gate.enter(request("b"), () => void called.push("waits"));
    gate.enter(request("c"), forgets);
    gate.forget(forgets);
    for (const place of places.slice(0, 4)) place?.ended(GOOD);
    expect(called).toEqual(["waits"]);
  });

  test("comes back once, however often it is given back", async () => {
    const { gate, request } = await start();
    const [first] = Array.from({ length: 20 }, () => gate.enter(request("a"), nothing));
    first?.ended(GOOD);
    first?.ended(GOOD);
    first?.leave();
    gate.enter(request("a"), nothing);
    gate.enter(request("b"), nothing);
    expect(gate.enter(request("b"), nothing)).toBeUndefined();
  });

  test("is its own: another account's shares and spacing are not touched", async () => {
    const { gate, request } = await start();
    gate.enter(request("a"), nothing)?.ended({ ...GOOD, usage: { throttled: 1, waitedMs: 0 } });
    expect(gate.enter(request("a"), nothing)?.share).toBe(0.5);
    expect(gate.enter(request("b", { quotaKey: "other" }), nothing)?.share).toBe(1);
    expect([gate.spacingMs("account"), gate.spacingMs("other")]).toEqual([50, 0]);
  });
});
