import { describe, expect, it } from "vitest";
import {
  type AdaptiveConcurrency,
  createAdaptiveConcurrency,
  type Permit,
} from "#kube/apply/adaptive-concurrency.ts";

const NEVER = new AbortController().signal;

/** Takes what the gate gives now. */
async function takeAll(gate: AdaptiveConcurrency): Promise<Permit[]> {
  const taken: Permit[] = [];
  for (;;) {
    const giveUp = new AbortController();
    const entering = gate.acquire("front", giveUp.signal);
    const ticket = await Promise.race([
      entering,
      new Promise<undefined>((resolve) => setImmediate(resolve, undefined)),
    ]);
    giveUp.abort();
    if (ticket === undefined) return taken;
    taken.push(ticket);
  }
}

describe("a gate", () => {
  it("grants permits up to its maximum", async () => {
    expect(await takeAll(createAdaptiveConcurrency(5))).toHaveLength(5);
  });

  it("halves once for requests that were throttled together", async () => {
    const gate = createAdaptiveConcurrency(8);
    for (const ticket of await takeAll(gate)) ticket.throttled(0);
    expect(gate.bound()).toBe(4);
  });

  it("never closes below one", async () => {
    const gate = createAdaptiveConcurrency(2);
    for (let round = 0; round < 5; round += 1) (await gate.acquire("back", NEVER))?.throttled(0);
    expect(gate.bound()).toBe(1);
  });

  it("grows back by one for each round of answers, up to its maximum", async () => {
    const gate = createAdaptiveConcurrency(4);
    (await gate.acquire("back", NEVER))?.throttled(0);
    const bounds: number[] = [];
    for (let answers = 0; answers < 20; answers += 1) {
      (await gate.acquire("back", NEVER))?.done();
      bounds.push(gate.bound());
    }
    expect([bounds[0], bounds[4], bounds.at(-1)]).toEqual([2, 3, 4]);
  });

  it("grants no permit during a pause", async () => {
    const gate = createAdaptiveConcurrency(4);
    (await gate.acquire("back", NEVER))?.throttled(0.05);
    expect(await takeAll(gate)).toHaveLength(0);
    expect(await gate.acquire("back", NEVER)).toBeDefined();
  });

  it("serves the front first, then the back in order", async () => {
    const gate = createAdaptiveConcurrency(1);
    const first = await gate.acquire("back", NEVER);
    const order: string[] = [];
    const waiting = (["back", "back", "front"] as const).map(async (place, number) => {
      const ticket = await gate.acquire(place, NEVER);
      order.push(`${place} ${number}`);
      ticket?.done();
    });
    first?.done();
    await Promise.all(waiting);
    expect(order).toEqual(["front 2", "back 0", "back 1"]);
  });

  it("gives up the place of who is aborted", async () => {
    const gate = createAdaptiveConcurrency(1);
    const first = await gate.acquire("back", NEVER);
    const giveUp = new AbortController();
    const waiting = gate.acquire("back", giveUp.signal);
    giveUp.abort();
    expect(await waiting).toBeUndefined();
    first?.done();
    expect(await takeAll(gate)).toHaveLength(1);
  });
});
