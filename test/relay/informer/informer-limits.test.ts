import { afterEach, expect, test } from "vitest";
import { NODES } from "#core/resources/resource.ts";
import { DEFAULT_BOUNDS } from "#kube/follow/bounds.ts";
import { startInformer } from "#relay/informer/informer.ts";
import { createFakeApi } from "#test/kube/apply/fake-api.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

const stopping = new AbortController();
afterEach(() => stopping.abort());

test("an informer reports which limits are in force, and continues within them", async () => {
  const api = createFakeApi();
  const clock = createManualClock();
  for (let index = 0; index < 5; index += 1) api.put(`n${index}`);
  const known = new Set<string>();
  const feed = startInformer({
    resource: NODES,
    transport: api,
    clock,
    random: () => 0.5,
    refreshSeconds: 300,
    bounds: { ...DEFAULT_BOUNDS, objects: 3 },
    signal: stopping.signal,
    note: () => {},
    subscribers: [
      {
        read: (object) => object,
        applied: (_object, { name }) => known.add(name),
        deleted: ({ name }) => known.delete(name),
        restarted() {},
      },
    ],
  });
  await clock.advance(0);
  expect([feed.isReady(), feed.limited().map(({ limit }) => limit), known.size]).toEqual([
    true,
    ["objects"],
    3,
  ]);
  api.raw(`${"x".repeat(9 * 1024 * 1024)}\n`);
  await clock.advance(0);
  expect(feed.limited().map(({ limit }) => limit)).toEqual(["objects", "watchLineBytes"]);
  await clock.advance(60_000);
  api.remove("n3");
  api.remove("n4");
  await clock.advance(0);
  expect([feed.isReady(), feed.limited(), known.size]).toEqual([true, [], 3]);
});
