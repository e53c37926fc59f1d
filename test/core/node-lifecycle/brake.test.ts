import { describe, expect, test } from "vitest";
import { checkBrake, pruneDeletions } from "#core/node-lifecycle/brake.ts";
import type { Deletion } from "#core/node-lifecycle/state.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  buildFoundAnswer,
  buildLifecycleNode,
  buildNotFoundAnswer,
  getTime,
  START,
} from "#test/core/node-lifecycle/builders.ts";
import { createWorld } from "#test/core/node-lifecycle/world.ts";

/** Deletions by age in seconds, in a cluster of the given size. */
function deletions(...ago: readonly (readonly [seconds: number, nodes: number])[]): Record<string, Deletion> {
  return Object.fromEntries(
    ago.map(([seconds, nodes], index) => [
      `uid-${index}`,
      { at: getTime(-seconds).toISOString(), clock: "one", nodes, counted: true },
    ]),
  );
}

const pulledBy = (of: Record<string, Deletion>, nodes: number, leaving = 0) =>
  checkBrake(of, { now: START, settings: DEFAULT_SETTINGS.nodes.deletion, nodes, leaving })?.limit;

describe("the brake", () => {
  test.each([
    ["the second of five in ten minutes", deletions([0, 5], [599, 5]), 4, "TenMinutes"],
    ["the second of ten in ten minutes", deletions([0, 9], [599, 10]), 9, undefined],
    ["the third of ten in ten minutes", deletions([0, 8], [599, 9], [599, 10]), 8, "TenMinutes"],
    // An intent may be carried out a minute later, and its writer's clock may be a minute ahead.
    ["one that was announced nearly twelve minutes before", deletions([0, 5], [719, 5]), 5, "TenMinutes"],
    ["one that was announced twelve minutes before", deletions([0, 6], [720, 6]), 6, undefined],
    ["one by a clock that is ahead", deletions([0, 5], [-59, 5]), 5, "TenMinutes"],
    ["the third of nine in a day", deletions([0, 9], [40_000, 9], [86_519, 9]), 7, undefined],
    ["the fourth of nine in a day", deletions([0, 9], [40_000, 9], [50_000, 9], [86_519, 9]), 6, "Day"],
    [
      "the fourth, the first of which was a day ago",
      deletions([0, 9], [40_000, 9], [50_000, 9], [86_520, 9]),
      6,
      undefined,
    ],
    [
      "after a scale-in, by the nodes that are left",
      deletions([0, 50], [300, 500], [300, 500]),
      10,
      "TenMinutes",
    ],
    ["after a scale-out, by the nodes that there were", deletions([0, 99], [300, 5]), 100, "TenMinutes"],
    ["the last node", deletions([0, 1]), 1, "AllNodes"],
  ])("decides on %s", (_, of, nodes, limit) => {
    expect(pulledBy(of, nodes)).toBe(limit);
  });

  test("keeps one node in addition to those that leave in any case", () => {
    expect(pulledBy(deletions([0, 4]), 4, 2)).toBeUndefined();
    expect(pulledBy(deletions([0, 4]), 4, 3)).toBe("AllNodes");
  });

  test("forgets deletions that no longer count", () => {
    const terminated = { at: getTime(-119).toISOString(), clock: "one", nodes: 3, counted: false };
    const kept = { ...deletions([86_519, 3]), terminated };
    const old = {
      a: { ...terminated, at: getTime(-120).toISOString() },
      b: { ...terminated, counted: true, at: getTime(-86_520).toISOString() },
    };
    expect(pruneDeletions({ ...kept, ...old }, START)).toEqual(kept);
  });
});

/** Ten nodes, some of which have been missing for a while: two of them may be deleted. */
function halfMissed(missed = 5) {
  const numbers = Array.from({ length: 10 }, (_, number) => number);
  const since = getTime(-900).toISOString();
  const world = createWorld(numbers.map((number) => buildLifecycleNode(number, { since })));
  const answers = new Map(
    numbers.map((number) => [
      `uid-${number}`,
      number < missed ? buildNotFoundAnswer("i-control") : buildFoundAnswer(number),
    ]),
  );
  world.run({ now: getTime(-200), clock: "earlier" }, answers);
  return {
    world,
    pass: (clock: string, seconds: number) => world.pass({ now: getTime(seconds), clock }, answers),
  };
}

/** Runs a number of steps, or all that remain. */
function take(pass: Generator<string, unknown>, steps = Number.POSITIVE_INFINITY): number {
  let taken = 0;
  while (taken < steps && pass.next().done !== true) taken += 1;
  return taken;
}

function until(pass: Generator<string, unknown>, step: string): void {
  for (let next = pass.next(); next.value !== step; next = pass.next())
    if (next.done) throw new Error(`the pass has no step "${step}"`);
}

describe("several actors under one state", () => {
  const { world, pass } = halfMissed();
  const steps = take(pass("alone", 0));

  test("delete as many nodes as the brake allows if only one of them runs", () => {
    expect(world.deleted).toHaveLength(2);
  });

  test.each([0, 45, -45])(
    "delete no more if one is interrupted anywhere by another with a clock %i seconds ahead",
    (ahead) => {
      const totals = new Set<number>();
      for (let first = 0; first <= steps; first += 1) {
        for (let second = 0; second <= steps; second += 1) {
          const both = halfMissed();
          const [one, other] = [both.pass("one", 0), both.pass("other", ahead)];
          take(one, first);
          take(other, second);
          take(one);
          take(other);
          totals.add(both.world.deleted.length);
        }
      }
      expect([...totals].toSorted()).toEqual([2]);
    },
  );

  test("delete no more if ten in a row are killed anywhere", () => {
    for (let killedAfter = 0; killedAfter <= steps; killedAfter += 1) {
      const killed = halfMissed();
      for (let round = 0; round < 10; round += 1)
        take(killed.pass(`process-${round}`, round * 20), killedAfter);
      for (let seconds = 200; seconds < 600; seconds += 30) take(killed.pass("last", seconds));
      // None if the brake was engaged with the announcement: then no actor continues another's work.
      expect(killed.world.deleted.length).toBeLessThanOrEqual(2);
    }
  });

  test("do not delete nodes that another actor has announced, until its announcement expires", () => {
    const { world, pass } = halfMissed(2);
    const announcing = pass("one", 0);
    until(announcing, "swapped");
    take(pass("other", 59));
    expect(world.deleted).toHaveLength(0);
    take(pass("other", 60));
    expect(world.deleted.map(({ uid }) => uid)).toEqual(["uid-0", "uid-1"]);
    // Frozen in between, and late: its announcement is no longer its own.
    take(announcing);
    expect(world.deleted).toHaveLength(2);
  });

  test("delete no node whose instance another found after the announcement", () => {
    const { world, pass } = halfMissed();
    const announcing = pass("one", 0);
    until(announcing, "swapped");
    const found = new Map(["uid-0", "uid-1"].map((uid, number) => [uid, buildFoundAnswer(number)]));
    world.run({ now: getTime(1), clock: "other" }, found);
    take(announcing);
    expect(world.deleted).toHaveLength(0);
  });

  test("delete no node that has changed since it was read after the announcement", () => {
    const { world, pass } = halfMissed();
    const announcing = pass("one", 0);
    until(announcing, "applies change");
    world.put(buildLifecycleNode(0, { ready: "True", since: getTime(1).toISOString() }));
    take(announcing);
    expect(world.deleted.map(({ uid }) => uid)).toEqual(["uid-1"]);
  });

  test("delete no node that is Ready when the announcement is written", () => {
    const { world, pass } = halfMissed();
    const announcing = pass("one", 0);
    until(announcing, "swapped");
    for (const number of [0, 1])
      world.put(buildLifecycleNode(number, { ready: "True", since: getTime(1).toISOString() }));
    take(announcing);
    expect(world.deleted).toHaveLength(0);
  });

  test("delete no node whose provider ID has changed", () => {
    const { world, pass } = halfMissed();
    const announcing = pass("one", 0);
    until(announcing, "swapped");
    for (const number of [0, 1])
      world.put(buildLifecycleNode(number, { providerID: "aws:///eu-central-1a/i-new" }));
    take(announcing);
    expect(world.deleted).toHaveLength(0);
  });
});
