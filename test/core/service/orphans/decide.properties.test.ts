import * as fc from "fast-check";
import { expect, test } from "vitest";
import { NOTICE_MS, TURN_MS } from "#core/service/orphans/mark.ts";
import {
  createWorld,
  formatUid,
  MINUTE_MS,
  type OrphansUnderTest,
  removeService,
  runPass,
  serve,
} from "#test/core/service/orphans/world.ts";
import { SEED } from "#test/seed.ts";

const { constant, constantFrom, integer, nat, oneof, record } = fc;

const NAMES = ["a", "b", "c", "d"];

/** A random change of a cluster, its lists or the time. */
const happenings = oneof(
  record({ what: constant("serve" as const), name: constantFrom(...NAMES) }),
  record({ what: constant("lose" as const), name: constantFrom(...NAMES) }),
  record({ what: constant("come-back" as const), name: constantFrom(...NAMES) }),
  record({ what: constant("hide" as const), name: constantFrom(...NAMES) }),
  record({ what: constant("wait" as const), minutes: integer({ min: 1, max: 25 }) }),
  record({ what: constant("audit" as const), steps: oneof(nat(3), constant(100)) }),
);
type Happening = typeof happenings extends fc.Arbitrary<infer T> ? T : never;

async function happen(world: OrphansUnderTest, happening: Happening): Promise<void> {
  const key = "name" in happening ? `default/${happening.name}` : "";
  switch (happening.what) {
    case "serve":
      if (!world.services.has(key) && !world.held.has(`lb-${happening.name}`)) serve(world, happening.name);
      return;
    case "lose":
      removeService(world, happening.name);
      return;
    case "come-back":
      // From a backup: with its uid, and its load balancer still exists.
      if (world.held.has(`lb-${happening.name}`)) world.services.set(key, formatUid(happening.name));
      return;
    case "hide":
      if (!world.unlisted.delete(key)) world.unlisted.add(key);
      return;
    case "wait":
      world.nowMs += happening.minutes * MINUTE_MS;
      return;
    case "audit":
      await audit(world, happening.steps);
  }
}

/** One audit, which must not do anything forbidden. */
async function audit(world: OrphansUnderTest, steps = 100): Promise<void> {
  const before = new Map(world.held);
  const already = world.done.length;
  const isSeen = [...world.services.keys()].every((key) => !world.unlisted.has(key));
  await runPass(world, { steps });
  const deleted = world.done.slice(already).filter(({ what }) => what.startsWith("Delete"));
  for (const { what } of deleted) {
    const held = before.get(what.split(" ")[1] ?? "");
    expect(held?.mark, what).toBeDefined();
    expect(world.services.has(held?.service ?? ""), what).toBe(false);
  }
  if (deleted.length > 0) {
    expect(isSeen).toBe(true);
    const control = [...before.values()].some(
      ({ service, isPart }) => isPart === undefined && world.services.has(service),
    );
    expect(control).toBe(true);
  }
}

const wholes = ({ done }: OrphansUnderTest) => done.filter(({ what }) => what.startsWith("Delete "));

test("for any changes and interruptions: one orphan per turn is deleted, no used one, none without proof, and finally all", async () => {
  const property = fc.asyncProperty(fc.array(happenings, { maxLength: 30 }), async (steps) => {
    const world = createWorld();
    for (const step of steps) await happen(world, step);
    // A deleted load balancer was marked long enough before.
    const marked = new Map<string, number>();
    for (const { what, atMs } of world.done) {
      const [action = "", id = ""] = what.split(" ");
      if (action === "Mark") marked.set(id, Math.max(marked.get(id) ?? 0, atMs));
      if (action === "Delete") expect(atMs - (marked.get(id) ?? atMs)).toBeGreaterThanOrEqual(NOTICE_MS);
    }
    const times = wholes(world).map(({ atMs }) => atMs);
    for (const [index, atMs] of times.slice(1).entries()) expect(atMs).toBeGreaterThan(times[index] ?? 0);
    world.unlisted.clear();
    serve(world, "control");
    for (let audits = 0; audits < 20; audits += 1) {
      await audit(world);
      world.nowMs += 10 * MINUTE_MS;
    }
    for (const { service, mark } of world.held.values()) {
      expect(world.services.has(service)).toBe(true);
      expect(mark).toBeUndefined();
    }
    const done = world.done.length;
    await audit(world);
    expect(world.done).toHaveLength(done);
  });
  await fc.assert(property, { seed: SEED, numRuns: 200 });
  expect(TURN_MS).toBeGreaterThan(10 * MINUTE_MS);
});
