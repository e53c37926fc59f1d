import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { getMaxClusters, resetFleetBrake } from "#core/node-lifecycle/fleet-brake.ts";
import {
  createFleetRecord,
  formatFleetRecord,
  MAX_FLEET_DELETIONS,
  readFleetRecord,
} from "#core/node-lifecycle/fleet-record.ts";
import { checkProperty } from "#test/core/check-property.ts";
import {
  buildFoundAnswer,
  buildLifecycleNode,
  buildNotFoundAnswer,
  getTime,
} from "#test/core/node-lifecycle/builders.ts";
import { createFleetStore } from "#test/core/node-lifecycle/fleet-store.ts";
import { createWorld, type Outcome } from "#test/core/node-lifecycle/world.ts";

const { array, constant, integer, nat, oneof, option, record, tuple } = fc;

/** The number of nodes in each cluster; those of the lower half are missing. */
const NODES = 10;
/** The number of concurrent functions. */
const AT_ONCE = 10;
/** The function's own end: nothing of an invocation remains. */
const INVOCATION_SECONDS = 30;

type Happening =
  | { readonly what: "step"; readonly running: number; readonly steps: number }
  | { readonly what: "kill"; readonly running: number }
  | { readonly what: "time"; readonly seconds: number }
  | { readonly what: "reset" };

interface Running {
  readonly cluster: number;
  readonly since: number;
  readonly steps: Generator<string, ReadonlyMap<string, Outcome>>;
}

/** A deletion at its true time, with the number of the operator's resets of the brake so far. */
interface Deleted {
  readonly cluster: number;
  readonly seconds: number;
  readonly resets: number;
}

/**
 * Half of the nodes in all clusters are missing in the cloud. Functions decide on one cluster after the
 * other, at the maximum concurrency.
 */
function massNotFound(
  clusters: number,
  isCounted: boolean,
  story: readonly Happening[],
  skews: readonly number[],
): readonly Deleted[] {
  const numbers = Array.from({ length: NODES }, (_, number) => number);
  const answers = new Map(
    numbers.map((number) => [
      `uid-${number}`,
      number < NODES / 2 ? buildNotFoundAnswer("i-control") : buildFoundAnswer(number),
    ]),
  );
  const store = createFleetStore({ ...createFleetRecord(), ...(isCounted ? { clusters } : {}) });
  const since = getTime(-90_000).toISOString();
  const worlds = new Map<number, ReturnType<typeof createWorld>>();
  const worldOf = (cluster: number): ReturnType<typeof createWorld> => {
    const known = worlds.get(cluster);
    if (known !== undefined) return known;
    const nodes = numbers.map((number) => buildLifecycleNode(number, { since }));
    const world = createWorld(nodes, undefined, { cluster: `tenant-${cluster}`, store });
    worlds.set(cluster, world);
    world.run({ now: getTime(-200), clock: "earlier" }, answers);
    return world;
  };
  const deleted: Deleted[] = [];
  let running: Running[] = [];
  let seconds = 0;
  let resets = 0;
  let next = 0;

  const step = (which: Running): void => {
    const { deleted: before } = worldOf(which.cluster);
    const had = before.length;
    const isDone = which.steps.next().done === true;
    for (const _ of before.slice(had)) deleted.push({ cluster: which.cluster, seconds, resets });
    if (isDone) running = running.filter((each) => each !== which);
  };
  const happen = (happening: Happening): void => {
    switch (happening.what) {
      case "time":
        seconds += happening.seconds;
        running = running.filter((each) => seconds - each.since < INVOCATION_SECONDS);
        break;
      case "reset": {
        const read = readFleetRecord(store.current().text);
        if (read.kind === "record" && read.record.brake !== undefined) {
          resets += 1;
          store.write(formatFleetRecord(resetFleetBrake(read.record, getTime(seconds))));
        }
        break;
      }
      case "kill":
        running = running.filter((_, index) => index !== happening.running % AT_ONCE);
        break;
      case "step": {
        const which = running[happening.running % AT_ONCE];
        for (let done = 0; which !== undefined && done < happening.steps; done += 1) step(which);
      }
    }
  };
  for (const happening of story) {
    while (running.length < AT_ONCE) {
      const cluster = next % clusters;
      const skew = skews[next % skews.length] ?? 0;
      const decider = { now: getTime(seconds + skew), clock: `clock-${next % skews.length}` };
      running.push({ cluster, since: seconds, steps: worldOf(cluster).pass(decider, answers) });
      next += 1;
    }
    happen(happening);
  }
  return deleted;
}

const stories = (weightOfResets: number): fc.Arbitrary<Happening[]> =>
  array(
    oneof(
      {
        weight: 12,
        arbitrary: record({
          what: constant("step" as const),
          running: nat(AT_ONCE - 1),
          steps: integer({ min: 1, max: 30 }),
        }),
      },
      { weight: 1, arbitrary: record({ what: constant("kill" as const), running: nat(AT_ONCE - 1) }) },
      {
        weight: 2,
        arbitrary: record({ what: constant("time" as const), seconds: integer({ min: 1, max: 150 }) }),
      },
      { weight: weightOfResets, arbitrary: constant({ what: "reset" as const }) },
    ),
    { minLength: 40, maxLength: 160 },
  );

/** Clocks that differ by less than a minute. */
const clocks = array(integer({ min: -29, max: 29 }), { minLength: 1, maxLength: 4 });

describe("for any order of changes", () => {
  test("at most the allowed nodes and clusters lose nodes in ten minutes, however many are missing", () => {
    checkProperty(
      [tuple(option(constant(true)), integer({ min: 1, max: 800 })), stories(0), clocks],
      ([isCounted, clusters], story, skews) => {
        const deleted = massNotFound(clusters, isCounted === true, story, skews);
        expectWithinLimits(deleted, isCounted === true ? clusters : undefined);
      },
    );
  });

  test("a reset by the operator allows one more quota, and no more", () => {
    checkProperty([stories(1), clocks], (story, skews) => {
      const deleted = massNotFound(800, true, story, skews);
      for (const resets of new Set(deleted.map((each) => each.resets)))
        expectWithinLimits(
          deleted.filter((each) => each.resets === resets),
          800,
        );
    });
  });
});

test("a mass not-found in 800 clusters deletes nodes of sixteen, at most twenty nodes, and then stops", () => {
  const whole = Array.from({ length: 4_000 }, (_, number): Happening[] => [
    { what: "step", running: (number * 7) % AT_ONCE, steps: 1 + (number % 30) },
    // A killed actor had permission and deleted nothing: it counts nevertheless.
    ...(number % 41 === 0 ? [{ what: "kill", running: number % AT_ONCE } as const] : []),
    ...(number % 20 === 0 ? [{ what: "time", seconds: 3 } as const] : []),
  ]).flat();
  const deleted = massNotFound(800, true, whole, [0, 25, -25]);
  expectWithinLimits(deleted, 800);
  expect(deleted.length).toBeGreaterThan(0);
  // The brake stays engaged: ten minutes do not release it.
  expect(deleted.length).toBeLessThanOrEqual(MAX_FLEET_DELETIONS);
});

function expectWithinLimits(deleted: readonly Deleted[], clusters: number | undefined): void {
  for (const { seconds } of deleted) {
    const window = deleted.filter((each) => each.seconds >= seconds && each.seconds < seconds + 600);
    expect(window.length).toBeLessThanOrEqual(MAX_FLEET_DELETIONS);
    expect(new Set(window.map(({ cluster }) => cluster)).size).toBeLessThanOrEqual(getMaxClusters(clusters));
  }
}
