import { expect, test } from "vitest";
import { createLookQueue } from "#functions/parts/audit/look-queue.ts";
import type { TouchedObjects } from "#sweep/touched.ts";
import { createManualClock, waitUntilQuiet } from "#test/kube/follow/manual-clock.ts";

const touch = (...names: readonly string[]): TouchedObjects =>
  new Map([["nodes", new Map(names.map((name) => [name, { name }]))]]);

/** A queue whose looks end on command, and what each looked at. */
function createWorld() {
  const clock = createManualClock();
  const looks: { cluster: string; nodes: unknown; end: (result?: string) => void }[] = [];
  const queue = createLookQueue<string>((cluster, touched) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const nodes = touched.get("nodes");
    looks.push({
      cluster,
      nodes: nodes === "all" || nodes === undefined ? nodes : [...nodes.keys()],
      end: (result = "done") => resolve(result),
    });
    return promise;
  }, clock);
  const listNodes = (): unknown[] => looks.map(({ nodes }) => nodes);
  return { clock, queue, looks, listNodes };
}

test("a first report is looked at without waiting", () => {
  const { queue, listNodes } = createWorld();
  void queue.add("blue", touch("a"));
  expect(listNodes()).toEqual([["a"]]);
});

test("reports that arrive during a look share the next one, and resolve with it", async () => {
  const { clock, queue, looks, listNodes } = createWorld();
  const first = queue.add("blue", touch("a"));
  const [second, third] = [queue.add("blue", touch("b")), queue.add("blue", touch("c", "b"))];
  await clock.advance(5_000);
  expect(listNodes()).toEqual([["a"]]);
  looks[0]?.end("first");
  await waitUntilQuiet();
  expect(listNodes()).toEqual([["a"], ["b", "c"]]);
  looks[1]?.end("second");
  expect(await Promise.all([first, second, third])).toEqual(["first", "second", "second"]);
});

test("a flood costs its cluster a look a second, and others nothing", async () => {
  const { clock, queue, looks } = createWorld();
  let rejected = 0;
  for (let ms = 0; ms < 10_000; ms += 10) {
    for (let report = 0; report < 10; report += 1) {
      if (queue.isFull("blue")) rejected += 1;
      else void queue.add("blue", touch(`n${ms + report}`));
    }
    for (const { end } of looks) end();
    await clock.advance(10);
  }
  expect(looks.filter(({ cluster }) => cluster === "blue").length).toBeLessThanOrEqual(11);
  expect(rejected).toBeGreaterThan(9_000);
  expect(queue.isFull("red")).toBe(false);
  void queue.add("red", touch("a"));
  expect(looks.at(-1)).toMatchObject({ cluster: "red", nodes: ["a"] });
});

test("the objects of a waiting look grow up to a bound, and become the whole resource", async () => {
  const { clock, queue, looks, listNodes } = createWorld();
  void queue.add("blue", touch("first"));
  for (let report = 0; report < 3; report += 1)
    void queue.add("blue", touch(...Array.from({ length: 200 }, (_, index) => `n${report}-${index}`)));
  looks[0]?.end();
  await clock.advance(1_000);
  expect(listNodes()).toEqual([["first"], "all"]);
});

test("a full queue takes reports again after its look has begun", async () => {
  const { clock, queue, looks } = createWorld();
  void queue.add("blue", touch("a"));
  while (!queue.isFull("blue")) void queue.add("blue", touch("b"));
  looks[0]?.end();
  await clock.advance(1_000);
  expect(queue.isFull("blue")).toBe(false);
});

test("clusters are bounded, and idle ones make room", async () => {
  const { clock, queue, looks } = createWorld();
  for (let index = 0; index < 256; index += 1) void queue.add(`c${index}`, touch("a"));
  expect(queue.isFull("one-more")).toBe(true);
  expect(queue.isFull("c0")).toBe(false);
  for (const { end } of looks) end();
  await clock.advance(1_000);
  expect(queue.isFull("one-more")).toBe(false);
});
