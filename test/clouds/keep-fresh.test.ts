import { expect, test } from "vitest";
import { type FreshValue, keepFresh, type Reading } from "#platforms/keep-fresh.ts";

const MINUTE_MS = 60_000;

interface World {
  now: number;
  /** The result of the next read; an error is thrown. */
  next: Reading<string> | Error;
  readonly reads: boolean[];
  readonly kept: FreshValue<string>;
}

/** Creates a value with a maximum age of five minutes, and a constant `random`. */
function aWorld(random = 0): World {
  const reads: boolean[] = [];
  const world: World = {
    now: 1_000_000,
    next: { value: "first" },
    reads,
    kept: keepFresh(
      async (fresh) => {
        reads.push(fresh);
        if (world.next instanceof Error) throw world.next;
        return world.next;
      },
      { maxAgeMs: 5 * MINUTE_MS, now: () => world.now, random: () => random },
    ),
  };
  return world;
}

test.each<{ given: string; lifeMs?: number; random?: number; afterMs: number; reads: number }>([
  { given: "a value without an end before its maximum age", afterMs: 5 * MINUTE_MS - 1, reads: 1 },
  { given: "a value without an end at its maximum age", afterMs: 5 * MINUTE_MS, reads: 2 },
  {
    given: "a value without an end a tenth before its maximum age, at random",
    random: 1,
    afterMs: 4.5 * MINUTE_MS,
    reads: 2,
  },
  {
    given: "a value with an end before four fifths of its life",
    lifeMs: MINUTE_MS,
    afterMs: 48_000 - 1,
    reads: 1,
  },
  { given: "a value with an end at four fifths of its life", lifeMs: MINUTE_MS, afterMs: 48_000, reads: 2 },
  {
    given: "a value with an end a tenth before four fifths of its life, at random",
    lifeMs: MINUTE_MS,
    random: 1,
    afterMs: 43_200,
    reads: 2,
  },
  {
    given: "a value with an end beyond its maximum age",
    lifeMs: 60 * MINUTE_MS,
    afterMs: 5 * MINUTE_MS - 1,
    reads: 1,
  },
  { given: "a value that ends in a millisecond", lifeMs: 1, afterMs: 0, reads: 1 },
])("$given: it is read $reads times", async ({ lifeMs, random, afterMs, reads }) => {
  const world = aWorld(random);
  world.next = { value: "first", endsAt: lifeMs === undefined ? undefined : world.now + lifeMs };
  await world.kept.get();
  world.now += afterMs;
  await world.kept.get();
  expect(world.reads).toHaveLength(reads);
});

test("one read serves all waiting calls, and all rejections at one time", async () => {
  const world = aWorld();
  await Promise.all([world.kept.get(), world.kept.get(), world.kept.get()]);
  expect(world.reads).toEqual([false]);
  world.now += 10_000;
  const fresh = { fresh: true };
  await Promise.all([world.kept.get(fresh), world.kept.get(fresh), world.kept.get()]);
  expect(world.reads).toEqual([false, true]);
});

test("a rejection causes a new read, and another rejection a moment later shares it", async () => {
  const world = aWorld();
  await world.kept.get();
  world.next = { value: "second" };
  expect(await world.kept.get({ fresh: true })).toBe("second");
  world.now += 999;
  await world.kept.get({ fresh: true });
  expect(world.reads).toEqual([false, true]);
  world.now += 1;
  await world.kept.get({ fresh: true });
  expect(world.reads).toEqual([false, true, true]);
});

test("a valid value is returned if the next one cannot be read, and the read is retried every few seconds", async () => {
  const world = aWorld();
  world.next = { value: "first", endsAt: world.now + 10 * MINUTE_MS };
  await world.kept.get();
  world.next = new Error("away");
  world.now += 5 * MINUTE_MS;
  for (let seconds = 0; seconds < 30; seconds += 1, world.now += 1_000)
    expect(await world.kept.get()).toBe("first");
  expect(world.reads).toHaveLength(1 + 6);
  world.next = { value: "second" };
  expect(await world.kept.get()).toBe("second");
});

test("an expired value is not returned, and soon after all callers get the failure", async () => {
  const world = aWorld();
  world.next = { value: "first", endsAt: world.now + MINUTE_MS };
  await world.kept.get();
  world.next = new Error("away");
  world.now += MINUTE_MS;
  for (let asked = 0; asked < 5; asked += 1) await expect(world.kept.get()).rejects.toThrow("away");
  expect(world.reads).toHaveLength(2);
  world.next = { value: "second" };
  world.now += 5_000;
  expect(await world.kept.get()).toBe("second");
});

test("a rejection without a possible read is an error, and the value is kept", async () => {
  const world = aWorld();
  await world.kept.get();
  world.next = new Error("away");
  await expect(world.kept.get({ fresh: true })).rejects.toThrow("away");
  expect(await world.kept.get()).toBe("first");
});

test("a caller with a valid value does not wait long for a hanging read", async () => {
  const never = Promise.withResolvers<Reading<string>>();
  let now = 0;
  let reads = 0;
  const kept = keepFresh(() => (reads++ === 0 ? Promise.resolve({ value: "first" }) : never.promise), {
    maxAgeMs: MINUTE_MS,
    now: () => now,
  });
  await kept.get();
  now = MINUTE_MS;
  expect(await Promise.all([kept.get(), kept.get()])).toEqual(["first", "first"]);
  expect(reads).toBe(2);
  never.resolve({ value: "second" });
  await never.promise;
  expect(await kept.get()).toBe("second");
});

test("is read again after the clock was set back, because its age is unknown", async () => {
  const world = aWorld();
  await world.kept.get();
  world.now -= 60 * MINUTE_MS;
  world.next = { value: "second" };
  expect(await world.kept.get()).toBe("second");
});

test("is not delayed by a failure from before the clock was set back", async () => {
  const world = aWorld();
  world.next = new Error("no");
  await expect(world.kept.get()).rejects.toThrow("no");
  world.now -= 60 * MINUTE_MS;
  world.next = { value: "first" };
  expect(await world.kept.get()).toBe("first");
});
