import { afterEach, beforeEach, expect, test } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import { INSTANCE_ANNOTATION, TO_BE_DELETED_TAINT } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { REGION, VPC } from "#emulators/digitalocean/names.ts";
import { buildCall } from "#test/clouds/builders.ts";
import { createNodeWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";
import { buildLifecycleNode, getTime } from "#test/core/node-lifecycle/builders.ts";
import { createWorld } from "#test/core/node-lifecycle/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const MINUTES_OF_NIGHT = 120;

const nodeOf = ({ id }: FakeDroplet, isLeaving: boolean): Node =>
  buildLifecycleNode(Number(id), {
    providerID: `digitalocean://${id}`,
    annotations: { [INSTANCE_ANNOTATION]: `digitalocean/${REGION}/${VPC}/${id}` },
    ...(isLeaving ? { taints: [{ key: TO_BE_DELETED_TAINT, effect: "NoSchedule" }] } : {}),
  });

/**
 * Runs a night in which all but three of thirty nodes lose their droplets. Nodes that are not Ready are
 * checked every half minute.
 */
async function night({
  atOnce,
  isMarked,
  isRecorded = false,
}: {
  readonly atOnce: number;
  readonly isMarked: boolean;
  readonly isRecorded?: boolean;
}) {
  const droplets = Array.from({ length: 30 }, () => world.fake.add());
  const leaving = droplets.slice(3);
  const cluster = createWorld(droplets.map((each) => nodeOf(each, isMarked && leaving.includes(each))));
  const cloud: Cloud = world.cloud();
  for (let half = 0; half < 2 * MINUTES_OF_NIGHT; half += 1) {
    // Some leave every ten minutes.
    const left = leaving.slice(0, atOnce * (1 + Math.floor(half / 20)));
    for (const { id } of left) {
      world.fake.droplets.delete(id);
      if (isRecorded) world.fake.destroyed.add(id);
    }
    const ids = new Set(left.map(({ id }) => `digitalocean://${id}`));
    const silent = [...cluster.listed.values()].filter(({ spec }) => ids.has(spec.providerID ?? ""));
    const { answers } = await cloud.instances(silent, buildCall({ control: true }));
    cluster.run(
      { now: getTime(30 * half), clock: "a" },
      new Map(
        silent.flatMap(({ metadata }, index) => {
          const answer = answers[index];
          return answer === undefined ? [] : [[metadata.uid, answer] as const];
        }),
      ),
    );
    world.pass(30_000);
  }
  return { cluster, kept: droplets.slice(0, 3) };
}

test.for([3, 9, 27])("a scale-in of 30 nodes to three overnight completes, %i at a time", async (atOnce) => {
  const { cluster, kept } = await night({ atOnce, isMarked: true });
  expect([...cluster.listed.values()].map(({ spec }) => spec.providerID)).toEqual(
    kept.map(({ id }) => `digitalocean://${id}`),
  );
  expect(cluster.state().brake).toBeUndefined();
});

test.for([9, 27])(
  "a scale-in without the autoscaler's taint completes if the account's actions show it, %i at a time",
  async (atOnce) => {
    const { cluster } = await night({ atOnce, isMarked: false, isRecorded: true });
    expect(cluster.listed.size).toBe(3);
    expect(cluster.state().brake).toBeUndefined();
  },
);

test("the brake counts if the token may not read actions", async () => {
  world.fake.scopes.delete("actions:read");
  const { cluster } = await night({ atOnce: 27, isMarked: false, isRecorded: true });
  expect(cluster.state().brake).toMatchObject({ nodes: expect.any(Number) });
});

test("without evidence of a scale-in the brake stops it: at most a third of the nodes are gone", async () => {
  const { cluster } = await night({ atOnce: 27, isMarked: false });
  expect(cluster.state().brake).toMatchObject({ nodes: expect.any(Number) });
  expect(cluster.deleted.length).toBeLessThanOrEqual(10);
});
