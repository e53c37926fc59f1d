import * as fc from "fast-check";
import { expect, test } from "vitest";
import { checkProperty } from "#test/core/check-property.ts";
import {
  buildSettings,
  createWorld,
  isLabelled,
  join,
  MARK,
  model,
  runPass,
  type TagsUnderTest,
} from "#test/core/tagging/known-tags.ts";

const { constant, constantFrom, integer, nat, oneof, record } = fc;

const SETS = [{ a: "1" }, { a: "2" }, { a: "1", b: "1" }, { c: "1" }];

/** A random change of a cluster, its configuration or its cloud. */
const happenings = oneof(
  record({ what: constant("join" as const), node: nat(4) }),
  record({ what: constant("leave" as const), node: nat(4) }),
  record({ what: constant("configure" as const), set: nat(SETS.length - 1) }),
  record({ what: constant("strip" as const), node: nat(4) }),
  record({ what: constant("refuse" as const), node: nat(4) }),
  record({
    what: constant("pass" as const),
    reason: constantFrom("watch" as const, "refresh" as const, "sweep" as const),
    steps: oneof(integer({ min: 0, max: 6 }), constant(100)),
    fails: fc.boolean(),
  }),
);
type Happening = typeof happenings extends fc.Arbitrary<infer T> ? T : never;

function happen(world: TagsUnderTest, happening: Happening): void {
  switch (happening.what) {
    case "join":
      join(world, happening.node);
      return;
    case "leave":
      world.nodes.delete(`node-${happening.node}`);
      return;
    case "configure":
      world.tags = SETS[happening.set] ?? {};
      return;
    case "strip": {
      const { Name: name, ...tags } = world.resources.get(`r-${happening.node}`) ?? {};
      const [first] = Object.keys(tags).filter((key) => key !== MARK);
      if (first === undefined || name === undefined) return;
      const { [first]: _, ...rest } = tags;
      world.resources.set(`r-${happening.node}`, { Name: name, ...rest });
      return;
    }
    case "refuse":
      world.refused.add(`r-${happening.node}`);
      return;
    case "pass": {
      world.failing = happening.fails ? { code: "Throttled", message: "slower" } : undefined;
      runPass(world, happening);
      world.failing = undefined;
    }
  }
}

test("for any changes and interruptions: two audits later exactly the desired tags of ours exist", () => {
  checkProperty([fc.array(happenings, { maxLength: 25 })], (steps) => {
    const world = createWorld(SETS[0]);
    for (const step of steps) happen(world, step);
    world.refused.clear();
    runPass(world, { reason: "refresh" });
    runPass(world, { reason: "refresh" });
    for (const [id, { Name: name, ...tags }] of world.resources) {
      expect(name).toBe(`of ${id.slice(2)}`);
      const isHeld = [...world.nodes.values()].some(({ spec }) => spec.providerID === `cloud://${id}`);
      expect(tags, id).toEqual(isHeld ? model.marked(world.tags, buildSettings(world)) : {});
    }
    for (const name of world.nodes.keys()) expect(isLabelled(world, name), name).toBe(true);
    world.done.length = 0;
    for (const reason of ["watch", "refresh", "sweep"] as const)
      expect(runPass(world, { reason })).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual([]);
  });
});
