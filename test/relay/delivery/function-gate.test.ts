import { describe, expect, test } from "vitest";
import { createFunctionGate, type FunctionPlace } from "#relay/delivery/function-gate.ts";
import { ABANDONED } from "#relay/delivery/invoker.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

interface End {
  readonly code: string;
  readonly refused: boolean;
}
const refused = (code: string): End => ({ code, refused: true });
const THROTTLED = refused("Throttled");
const UNREACHABLE = refused("Unreachable");
/** The function ran, whatever came of it. */
const RAN: End = { code: "FunctionError", refused: false };

/** A gate, and somebody who wants as many places as can be had. */
function start(random = 0.5) {
  const clock = createManualClock();
  const gate = createFunctionGate(clock, () => random);
  const places: FunctionPlace[] = [];
  const enter = (): void => {
    for (;;) {
      const place = gate.enter(enter);
      if (place === undefined) return;
      places.push(place);
    }
  };
  /** Ends the oldest that is in flight. */
  const end = (how: End): void => places.shift()?.ended(how);
  return { clock, gate, places, enter, end };
}

/** Lets in until the eleventh is refused. */
async function startAtTen() {
  const world = start();
  world.enter();
  while (world.places.length <= 10) await world.clock.advance(25);
  for (const place of world.places.splice(10)) place.ended(THROTTLED);
  return world;
}

describe("a gate that was never refused", () => {
  test("lets one in at once, and goes on step by step as long as none comes back", async () => {
    const { clock, places, enter } = start();
    enter();
    const steps: number[] = [places.length];
    for (let step = 0; step < 14; step += 1) {
      await clock.advance(25);
      steps.push(places.length);
    }
    expect(steps).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33]);
  });

  test("lets as many in again as have gone together before", async () => {
    const { clock, places, enter, end } = start();
    enter();
    await clock.advance(75);
    expect(places).toHaveLength(4);
    end(RAN);
    end(RAN);
    expect(places).toHaveLength(4);
  });
});

describe("a refusal beside others that are taken", () => {
  test("is the limit: so many, each as one of them is back", async () => {
    const { clock, places, end } = await startAtTen();
    await clock.advance(1_000);
    expect(places).toHaveLength(10);
    for (let index = 0; index < 15; index += 1) end(RAN);
    expect(places).toHaveLength(10);
  });

  test.each([
    { given: "twenty have been taken for each", taken: 40, passedMs: 25 },
    { given: "half a minute has passed", taken: 0, passedMs: 30_000 },
  ])("is tried again when $given", async ({ taken, passedMs }) => {
    const { clock, places, end } = await startAtTen();
    for (let index = 0; index < taken; index += 1) end(RAN);
    await clock.advance(passedMs);
    expect(places.length).toBeGreaterThan(10);
  });

  test("that is back after the one that was taken closes nothing", async () => {
    const { clock, places, enter } = start();
    enter();
    await clock.advance(25);
    const [taken, refused] = places.splice(0);
    taken?.ended(RAN);
    places.splice(0);
    refused?.ended(THROTTLED);
    expect(places.length).toBeLessThanOrEqual(1);
  });
});

describe("a gate that closes", () => {
  test.each([
    { code: "Throttled", random: 0, longestMs: 250 },
    { code: "Throttled", random: 0.999_999, longestMs: 5_000 },
    { code: "Unreachable", random: 0.999_999, longestMs: 5_000 },
    { code: "Denied", random: 0.999_999, longestMs: 30_000 },
  ])(
    "because of $code lets one try ($random), ever more rarely, after $longestMs ms at the latest",
    async ({ code, random, longestMs }) => {
      const { clock, places, enter, end } = start(random);
      enter();
      const waits: number[] = [];
      for (let round = 0; round < 12; round += 1) {
        const fromMs = clock.now();
        end(refused(code));
        while (places.length === 0) await clock.advance(10);
        expect(places).toHaveLength(1);
        await clock.advance(1_000);
        expect(places).toHaveLength(1);
        waits.push(clock.now() - 1_000 - fromMs);
      }
      expect(waits).toEqual([...waits].sort((a, b) => a - b));
      expect(Math.max(...waits)).toBeLessThanOrEqual(longestMs + 10);
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(250);
    },
  );

  test("opens with the first that is taken, and with a few", async () => {
    const { clock, places, enter, end } = start();
    enter();
    await clock.advance(200);
    for (const place of places.splice(0)) place.ended(UNREACHABLE);
    await clock.advance(5_000);
    expect(places).toHaveLength(1);
    end(RAN);
    expect(places).toHaveLength(2);
    await clock.advance(50);
    expect(places).toHaveLength(4);
  });

  test("gives the next one the try of one that was abandoned", async () => {
    const { clock, places, enter, end } = start();
    enter();
    end(UNREACHABLE);
    await clock.advance(5_000);
    end({ code: ABANDONED, refused: false });
    expect(places).toHaveLength(1);
  });

  test.each(["TimedOut", "FunctionError", "BadReport", "InvokerFault"])(
    "does not because of %s: the platform took it",
    async (code) => {
      const { clock, places, enter, end } = start();
      enter();
      await clock.advance(75);
      end({ code, refused: false });
      expect(places).toHaveLength(4);
    },
  );

  test("does not because of an answer that was lost on its way", async () => {
    const { places, enter, end } = start();
    enter();
    end({ code: "Unreachable", refused: false });
    expect(places.length).toBeGreaterThan(0);
  });
});

describe("those that wait", () => {
  test("have a turn each, in the order in which they came, and go to the end for another", async () => {
    const clock = createManualClock();
    const gate = createFunctionGate(clock, () => 0.5);
    const went: string[] = [];
    const places: FunctionPlace[] = [];
    const waiterOf = (name: string) => {
      const waiter = (): void => {
        const place = gate.enter(waiter);
        if (place === undefined) return;
        went.push(name);
        places.push(place);
        waiter();
      };
      return waiter;
    };
    const waiters = ["a", "b", "c"].map(waiterOf);
    for (const waiter of waiters) waiter();
    for (let round = 0; round < 9; round += 1) await clock.advance(25);
    const [, second] = waiters;
    expect(went.slice(0, 7)).toEqual(["a", "a", "b", "c", "a", "b", "c"]);
    if (second !== undefined) gate.forget(second);
    went.length = 0;
    for (let round = 0; round < 3; round += 1) await clock.advance(25);
    expect(new Set(went)).toEqual(new Set(["a", "c"]));
  });

  test("and have no use for their turn leave it to the next", async () => {
    const { clock, gate, places, enter, end } = start();
    enter();
    let asked = 0;
    gate.enter(() => {
      asked += 1;
    });
    end(RAN);
    await clock.advance(200);
    expect([asked, places.length > 0]).toEqual([1, true]);
  });
});
