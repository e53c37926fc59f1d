import { describe, expect, it } from "vitest";
import { createGate, type Gate, type Ticket } from "#kube/apply/concurrency.ts";

const NEVER = new AbortController().signal;

/** Takes what the gate gives now. */
async function takeAll(gate: Gate): Promise<Ticket[]> {
  const taken: Ticket[] = [];
  for (;;) {
    const giveUp = new AbortController();
    const entering = gate.enter("front", giveUp.signal);
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
  it("lets in up to its maximum", async () => {
    expect(await takeAll(createGate(5))).toHaveLength(5);
  });

  it("halves once for requests that were throttled together", async () => {
    const gate = createGate(8);
    for (const ticket of await takeAll(gate)) ticket.throttled(0);
    expect(gate.bound()).toBe(4);
  });

  it("never closes below one", async () => {
    const gate = createGate(2);
    for (let round = 0; round < 5; round += 1) (await gate.enter("back", NEVER))?.throttled(0);
    expect(gate.bound()).toBe(1);
  });

  it("grows back by one for each round of answers, up to its maximum", async () => {
    const gate = createGate(4);
    (await gate.enter("back", NEVER))?.throttled(0);
    const bounds: number[] = [];
    for (let answers = 0; answers < 20; answers += 1) {
      (await gate.enter("back", NEVER))?.done();
      bounds.push(gate.bound());
    }
    expect([bounds[0], bounds[4], bounds.at(-1)]).toEqual([2, 3, 4]);
  });

  it("lets nobody in during a pause", async () => {
    const gate = createGate(4);
    (await gate.enter("back", NEVER))?.throttled(0.05);
    expect(await takeAll(gate)).toHaveLength(0);
    expect(await gate.enter("back", NEVER)).toBeDefined();
  });

  it("serves the front first, then the back in order", async () => {
    const gate = createGate(1);
    const first = await gate.enter("back", NEVER);
    const order: string[] = [];
    const waiting = (["back", "back", "front"] as const).map(async (place, number) => {
      const ticket = await gate.enter(place, NEVER);
      order.push(`${place} ${number}`);
      ticket?.done();
    });
    first?.done();
    await Promise.all(waiting);
    expect(order).toEqual(["front 2", "back 0", "back 1"]);
  });

  it("gives up the place of who is aborted", async () => {
    const gate = createGate(1);
    const first = await gate.enter("back", NEVER);
    const giveUp = new AbortController();
    const waiting = gate.enter("back", giveUp.signal);
    giveUp.abort();
    expect(await waiting).toBeUndefined();
    first?.done();
    expect(await takeAll(gate)).toHaveLength(1);
  });
});
