import { describe, expect, test } from "vitest";
import type { ControllerName } from "#core/event.ts";
import { ABANDONED } from "#platforms/invoker.ts";
import { createInvocationLimiter } from "#relay/delivery/create-invocation-limiter.ts";
import type { InvocationEnd, InvocationPermit } from "#relay/delivery/invocation-limiter.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

const ended = (code: string | undefined, refused = false): InvocationEnd => ({
  code,
  refused,
  settleMs: 0,
  durationMs: 100,
  usage: undefined,
});
const refused = (code: string): InvocationEnd => ended(code, true);
const THROTTLED = refused("Throttled");
const UNREACHABLE = refused("Unreachable");
const LOST = ended("Unreachable");
/** The function ran, whatever its result. */
const RAN = ended("FunctionError");

const MOST = 200;

/**
 * Requests as many permits of a function as possible, each for another cluster, so that only the function's
 * limit counts.
 */
function wanting(limiter: ReturnType<typeof createInvocationLimiter>, controller: ControllerName) {
  const places: InvocationPermit[] = [];
  let clusters = 0;
  const enter = (): void => {
    while (places.length < MOST) {
      const cluster = `${controller}-${clusters}`;
      const place = limiter.enter({ controller, cluster, quotaKey: "account", floorShare: 0.05 }, enter);
      if (place === undefined) return;
      clusters += 1;
      places.push(place);
    }
  };
  return { places, enter };
}

function start(random = 0.5) {
  const clock = createManualClock();
  const limiter = createInvocationLimiter({ clock, random: () => random });
  const { places, enter } = wanting(limiter, "cloud-node-controller");
  /** Ends the oldest invocation in flight. */
  const end = (how: InvocationEnd): void => places.shift()?.ended(how);
  return { clock, gate: limiter, places, enter, end };
}

/** Starts with a limit that rose until the eleventh invocation was refused. */
async function startAtTen() {
  const world = start();
  world.enter();
  while (world.places.length <= 10) await world.clock.advance(25);
  for (const place of world.places.splice(10)) place.ended(THROTTLED);
  return world;
}

describe("a limit that was never refused", () => {
  test("gives one permit at once, and then rises step by step without refusals", async () => {
    const { clock, places, enter } = start();
    enter();
    const steps: number[] = [places.length];
    for (let step = 0; step < 14; step += 1) {
      await clock.advance(25);
      steps.push(places.length);
    }
    expect(steps).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33]);
  });

  test("gives as many permits again as ran together before", async () => {
    const { clock, places, enter, end } = start();
    enter();
    await clock.advance(75);
    expect(places).toHaveLength(4);
    end(RAN);
    end(RAN);
    expect(places).toHaveLength(4);
  });
});

describe("a refusal while others are accepted", () => {
  test("sets the limit: a new permit only after one ends", async () => {
    const { clock, places, end } = await startAtTen();
    await clock.advance(1_000);
    expect(places).toHaveLength(10);
    for (let index = 0; index < 15; index += 1) end(RAN);
    expect(places).toHaveLength(10);
  });

  test.each([
    { given: "twenty have been taken for each", taken: 40, passedMs: 25 },
    { given: "half a minute has passed", taken: 0, passedMs: 30_000 },
  ])("is followed by another try when $given", async ({ taken, passedMs }) => {
    const { clock, places, end } = await startAtTen();
    for (let index = 0; index < taken; index += 1) end(RAN);
    await clock.advance(passedMs);
    expect(places.length).toBeGreaterThan(10);
  });

  test("does not open the circuit if it arrives after the accepted one", async () => {
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

describe("an open circuit", () => {
  test.each([
    { code: "Throttled", random: 0, longestMs: 2_500 },
    { code: "Unreachable", random: 0, longestMs: 2_500 },
    { code: "Throttled", random: 0.999_999, longestMs: 5_000 },
    { code: "Unreachable", random: 0.999_999, longestMs: 5_000 },
    { code: "Denied", random: 0.999_999, longestMs: 30_000 },
  ])(
    "after $code sends single trials ($random), more and more rarely, after $longestMs ms at the latest",
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

  test("closes with the first accepted trial, and gives a few permits", async () => {
    const { clock, places, enter, end } = start();
    enter();
    await clock.advance(200);
    for (const place of places.splice(0)) place.ended(UNREACHABLE);
    await clock.advance(2_000);
    expect(places).toHaveLength(1);
    end(RAN);
    expect(places).toHaveLength(2);
    await clock.advance(50);
    expect(places).toHaveLength(4);
  });

  test("gives an abandoned trial to the next one", async () => {
    const { clock, places, enter, end } = start();
    enter();
    end(UNREACHABLE);
    await clock.advance(2_000);
    end(ended(ABANDONED));
    expect(places).toHaveLength(1);
  });

  test.each(["TimedOut", "FunctionError", "BadReport", "InvokerFault"])(
    "does not come from %s: the platform accepted the invocation",
    async (code) => {
      const { clock, places, enter, end } = start();
      enter();
      await clock.advance(75);
      end(ended(code));
      expect(places).toHaveLength(4);
    },
  );

  test("waits three seconds at most for a slow trial, and for the next one as well", async () => {
    const { clock, places, enter, end } = start();
    enter();
    end(UNREACHABLE);
    await clock.advance(500);
    const trials: number[] = [];
    for (let seconds = 0; seconds < 9; seconds += 1) {
      trials.push(places.length);
      await clock.advance(1_000);
    }
    expect(trials).toEqual([1, 1, 1, 2, 2, 2, 3, 3, 3]);
    places.pop()?.ended(RAN);
    expect(places.length).toBeGreaterThan(2);
  });
});

describe("a lost answer", () => {
  const closes = async (prepare: (world: ReturnType<typeof start>) => Promise<void>): Promise<boolean> => {
    const world = start();
    world.enter();
    await prepare(world);
    world.end(LOST);
    return world.gate.status().platformOpen;
  };
  test.each([
    { given: "at once, while none arrives", prepare: async () => {}, open: true },
    {
      given: "long after it was sent",
      prepare: async ({ clock }: ReturnType<typeof start>) => clock.advance(3_000),
      open: false,
    },
    {
      given: "while others arrive",
      prepare: async ({ clock, places }: ReturnType<typeof start>) => {
        await clock.advance(25);
        places.pop()?.ended(RAN);
      },
      open: false,
    },
  ])("$given: circuit open: $open", async ({ prepare, open }) => {
    expect(await closes(prepare)).toBe(open);
  });
});

test.each([refused("Denied"), UNREACHABLE])(
  "a limit that was reset by $code rises while older invocations are in flight",
  async (how) => {
    const { clock, places, enter, end } = start();
    enter();
    await clock.advance(200);
    const before = places.length;
    end(how);
    end(RAN);
    await clock.advance(100);
    expect(places.length).toBeGreaterThan(before - 2);
  },
);

describe("two functions", () => {
  /**
   * One function is refused; returns what the other one gets meanwhile, and after the answer to a trial of
   * either.
   */
  const beside = async (how: InvocationEnd) => {
    const clock = createManualClock();
    const limiter = createInvocationLimiter({ clock, random: () => 0.5 });
    const one = wanting(limiter, "cloud-node-controller");
    const other = wanting(limiter, "certificate-signing-request-approver");
    one.enter();
    one.places.pop()?.ended(how);
    other.enter();
    await clock.advance(100);
    const meanwhile = [one.places.length, other.places.length];
    await clock.advance(300);
    const onTrial = one.places.length + other.places.length;
    for (const place of [...one.places.splice(0), ...other.places.splice(0)]) place.ended(RAN);
    await clock.advance(100);
    return { meanwhile, onTrial, after: [one.places.length > 1, other.places.length > 1] };
  };

  test("wait together for an unreachable platform: one trial and its answer count for both", async () => {
    expect(await beside(UNREACHABLE)).toEqual({ meanwhile: [0, 0], onTrial: 1, after: [true, true] });
  });

  test.each(["Denied", "Throttled"])("do not wait for each other if one is %s", async (code) => {
    const { meanwhile, after } = await beside(refused(code));
    expect(meanwhile[0]).toBe(0);
    expect(meanwhile[1]).toBeGreaterThan(1);
    expect(after).toEqual([true, true]);
  });
});

describe("waiters", () => {
  test("have a turn each before any has another", async () => {
    const { clock, gate } = start();
    const went: string[] = [];
    const waiterOf = (cluster: string) => {
      const request = {
        controller: "cloud-node-controller",
        cluster,
        quotaKey: cluster,
        floorShare: 0.05,
      } as const;
      const waiter = (): void => {
        const place = gate.enter(request, waiter);
        if (place === undefined) return;
        went.push(cluster);
        waiter();
      };
      return waiter;
    };
    const waiters = ["a", "b", "c"].map(waiterOf);
    for (const waiter of waiters) waiter();
    for (let round = 0; round < 9; round += 1) await clock.advance(25);
    expect(went.slice(0, 3)).toEqual(["a", "b", "c"]);
    expect(went.slice(3, 6).toSorted()).toEqual(["a", "b", "c"]);
    const [, second] = waiters;
    if (second !== undefined) gate.forget(second);
    went.length = 0;
    for (let round = 0; round < 4; round += 1) await clock.advance(25);
    expect(new Set(went)).toEqual(new Set(["a", "c"]));
  });

  test("leave an unused turn to the next one", async () => {
    const { clock, gate, places, enter, end } = start();
    enter();
    let asked = 0;
    const request = {
      controller: "cloud-node-controller",
      cluster: "x",
      quotaKey: "account",
      floorShare: 0.05,
    } as const;
    gate.enter(request, () => {
      asked += 1;
    });
    end(RAN);
    await clock.advance(200);
    expect([asked, places.length > 0]).toEqual([1, true]);
  });
});
