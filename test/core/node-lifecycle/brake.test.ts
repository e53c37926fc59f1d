import { describe, expect, test } from "vitest";
import { brakeOf, rememberedDeletions } from "#core/node-lifecycle/brake.ts";
import type { Deletion } from "#core/node-lifecycle/state.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { at, foundIn, lifecycleNode, notFound, START } from "#test/core/node-lifecycle/builders.ts";
import { createWorld } from "#test/core/node-lifecycle/world.ts";

/** Deletions so many seconds ago, of a cluster of so many nodes then. */
function deletions(...ago: readonly (readonly [seconds: number, nodes: number])[]): Record<string, Deletion> {
  return Object.fromEntries(
    ago.map(([seconds, nodes], index) => [
      `uid-${index}`,
      { at: at(-seconds).toISOString(), clock: "one", nodes, counted: true },
    ]),
  );
}

const pulledBy = (of: Record<string, Deletion>, nodes: number, leaving = 0) =>
  brakeOf(of, { now: START, settings: DEFAULT_SETTINGS.nodes.deletion, nodes, leaving })?.limit;

describe("the brake", () => {
  test.each([
    ["the second of five in ten minutes", deletions([0, 5], [599, 5]), 4, "TenMinutes"],
    ["the second of ten in ten minutes", deletions([0, 9], [599, 10]), 9, undefined],
    ["the third of ten in ten minutes", deletions([0, 8], [599, 9], [599, 10]), 8, "TenMinutes"],
    // An intent may be carried out a minute later, and was written by a clock that is a minute ahead.
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
  ])("is asked for %s", (_, of, nodes, limit) => {
    expect(pulledBy(of, nodes)).toBe(limit);
  });

  test("leaves one node beside those that go in any case", () => {
    expect(pulledBy(deletions([0, 4]), 4, 2)).toBeUndefined();
    expect(pulledBy(deletions([0, 4]), 4, 3)).toBe("AllNodes");
  });

  test("forgets what no longer counts", () => {
    const terminated = { at: at(-119).toISOString(), clock: "one", nodes: 3, counted: false };
    const kept = { ...deletions([86_519, 3]), terminated };
    const old = {
      a: { ...terminated, at: at(-120).toISOString() },
      b: { ...terminated, counted: true, at: at(-86_520).toISOString() },
    };
    expect(rememberedDeletions({ ...kept, ...old }, START)).toEqual(kept);
  });
});

/** Ten nodes, some of which were missed a while ago and still are: two of them may go. */
function halfMissed(missed = 5) {
  const numbers = Array.from({ length: 10 }, (_, number) => number);
  const since = at(-900).toISOString();
  const world = createWorld(numbers.map((number) => lifecycleNode(number, { since })));
  const answers = new Map(
    numbers.map((number) => [`uid-${number}`, number < missed ? notFound("i-control") : foundIn(number)]),
  );
  world.run({ now: at(-200), clock: "earlier" }, answers);
  return {
    world,
    pass: (clock: string, seconds: number) => world.pass({ now: at(seconds), clock }, answers),
  };
}

/** Takes so many steps, or all that are left. */
function take(pass: Generator<string, unknown>, steps = Number.POSITIVE_INFINITY): number {
  let taken = 0;
  while (taken < steps && pass.next().done !== true) taken += 1;
  return taken;
}

function until(pass: Generator<string, unknown>, step: string): void {
  for (let next = pass.next(); next.value !== step; next = pass.next())
    if (next.done) throw new Error(`the pass has no step "${step}"`);
}

describe("several under one state", () => {
  const { world, pass } = halfMissed();
  const steps = take(pass("alone", 0));

  test("of whom one alone deletes as many as the brake allows", () => {
    expect(world.deleted).toHaveLength(2);
  });

  test.each([0, 45, -45])(
    "delete no more, wherever one is interrupted by another whose clock is %i seconds ahead",
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

  test("delete no more, wherever ten in a row are killed", () => {
    for (let killedAfter = 0; killedAfter <= steps; killedAfter += 1) {
      const killed = halfMissed();
      for (let round = 0; round < 10; round += 1)
        take(killed.pass(`process-${round}`, round * 20), killedAfter);
      for (let seconds = 200; seconds < 600; seconds += 30) take(killed.pass("last", seconds));
      // None where the brake was pulled with the announcement: then nobody goes on with what another has left.
      expect(killed.world.deleted.length).toBeLessThanOrEqual(2);
    }
  });

  test("leave alone what another has announced, until that can no longer be at it", () => {
    const { world, pass } = halfMissed(2);
    const announcing = pass("one", 0);
    until(announcing, "swapped");
    take(pass("other", 59));
    expect(world.deleted).toHaveLength(0);
    take(pass("other", 60));
    expect(world.deleted.map(({ uid }) => uid)).toEqual(["uid-0", "uid-1"]);
    // Frozen in between, and late: what it announced is no longer its own.
    take(announcing);
    expect(world.deleted).toHaveLength(2);
  });

  test("delete nothing that somebody has found after it was announced", () => {
    const { world, pass } = halfMissed();
    const announcing = pass("one", 0);
    until(announcing, "swapped");
    const found = new Map(["uid-0", "uid-1"].map((uid, number) => [uid, foundIn(number)]));
    world.run({ now: at(1), clock: "other" }, found);
    take(announcing);
    expect(world.deleted).toHaveLength(0);
  });

  test("delete nothing that has changed since it was read after the announcement", () => {
    const { world, pass } = halfMissed();
    const announcing = pass("one", 0);
    until(announcing, "applies change");
    world.put(lifecycleNode(0, { ready: "True", since: at(1).toISOString() }));
    take(announcing);
    expect(world.deleted.map(({ uid }) => uid)).toEqual(["uid-1"]);
  });

  test("delete nothing that is Ready by the time that the announcement is written", () => {
    const { world, pass } = halfMissed();
    const announcing = pass("one", 0);
    until(announcing, "swapped");
    for (const number of [0, 1])
      world.put(lifecycleNode(number, { ready: "True", since: at(1).toISOString() }));
    take(announcing);
    expect(world.deleted).toHaveLength(0);
  });

  test("delete nothing whose provider ID is another one by then", () => {
    const { world, pass } = halfMissed();
    const announcing = pass("one", 0);
    until(announcing, "swapped");
    for (const number of [0, 1])
      world.put(lifecycleNode(number, { providerID: "aws:///eu-central-1a/i-new" }));
    take(announcing);
    expect(world.deleted).toHaveLength(0);
  });
});
