import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FakeLoadBalancer } from "#emulators/digitalocean/load-balancers.ts";
import {
  buildNodes,
  buildService,
  buildSettings,
  converge,
  DEFAULT_NAME,
  ID,
  UID,
} from "#test/clouds/digitalocean/load-balancers/round.ts";
import { createNodeWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

interface Row {
  readonly title: string;
  readonly clusterID?: string;
  readonly there: Partial<FakeLoadBalancer>;
  /** How the Service names it: by ID, by name, or not at all. */
  readonly by: "id" | "name" | "nothing";
  /** The result: it is the Service's, it is rejected, or another one is made. */
  readonly becomes: "ours" | "refused" | "another";
}

const OTHER_VPC = "5a4981aa-9653-4bd1-bef5-d6bff52042e4";

const ROWS: readonly Row[] = [
  { title: "its own name, untagged", there: { name: DEFAULT_NAME }, by: "nothing", becomes: "ours" },
  { title: "its own name, untagged", there: { name: DEFAULT_NAME }, by: "id", becomes: "ours" },
  {
    title: "its own name, the cluster's tag",
    clusterID: "c1",
    there: { name: DEFAULT_NAME, tags: ["k8s:c1"] },
    by: "nothing",
    becomes: "ours",
  },
  {
    title: "its own name, untagged, in a cluster with an ID",
    clusterID: "c1",
    there: { name: DEFAULT_NAME },
    by: "nothing",
    becomes: "ours",
  },
  {
    title: "another name, the cluster's tag",
    clusterID: "c1",
    there: { name: "web", tags: ["k8s:c1"] },
    by: "id",
    becomes: "ours",
  },
  {
    title: "another name, the cluster's tag",
    clusterID: "c1",
    there: { name: "web", tags: ["k8s:c1"] },
    by: "name",
    becomes: "ours",
  },
  {
    title: "another name, the Service's tag",
    there: { name: "web", tags: [`k8s-service:${UID}`] },
    by: "name",
    becomes: "ours",
  },
  {
    title: "another name, the tag of another Service of the cluster",
    clusterID: "c1",
    there: { name: "web", tags: ["k8s:c1", "k8s-service:other"] },
    by: "name",
    becomes: "refused",
  },
  {
    title: "another name, the cluster's tag and others",
    clusterID: "c1",
    there: { name: "web", tags: ["prod", "k8s:c1"] },
    by: "id",
    becomes: "ours",
  },
  {
    title: "another name, untagged, in a cluster without an ID",
    there: { name: "web" },
    by: "id",
    becomes: "refused",
  },
  {
    title: "another name, untagged, in a cluster without an ID",
    there: { name: "web" },
    by: "name",
    becomes: "refused",
  },
  { title: "another name, untagged", clusterID: "c1", there: { name: "web" }, by: "id", becomes: "refused" },
  {
    title: "another name, untagged",
    clusterID: "c1",
    there: { name: "web" },
    by: "name",
    becomes: "refused",
  },
  {
    title: "another cluster's tag",
    clusterID: "c1",
    there: { name: "web", tags: ["k8s:c2"] },
    by: "id",
    becomes: "refused",
  },
  {
    title: "another cluster's tag",
    clusterID: "c1",
    there: { name: "web", tags: ["k8s:c2"] },
    by: "name",
    becomes: "refused",
  },
  {
    title: "another cluster's tag, in a cluster without an ID",
    there: { name: "web", tags: ["k8s:c2"] },
    by: "id",
    becomes: "refused",
  },
  {
    title: "its own name, another cluster's tag",
    clusterID: "c1",
    there: { name: DEFAULT_NAME, tags: ["k8s:c2"] },
    by: "nothing",
    becomes: "refused",
  },
  {
    title: "another Service's own name, untagged",
    there: { name: "a00000000000000000000000000000aa" },
    by: "id",
    becomes: "refused",
  },
  {
    title: "the cluster's tag in another region",
    clusterID: "c1",
    there: { name: "web", tags: ["k8s:c1"], region: "nyc1" },
    by: "id",
    becomes: "refused",
  },
  {
    title: "its own name, the tag of another cluster's Service",
    there: { name: DEFAULT_NAME, tags: ["k8s-service:other"] },
    by: "nothing",
    becomes: "refused",
  },
  {
    title: "its own name in another region",
    there: { name: DEFAULT_NAME, region: "nyc1" },
    by: "nothing",
    becomes: "another",
  },
  {
    title: "its own name in another VPC",
    there: { name: DEFAULT_NAME, vpc_uuid: OTHER_VPC },
    by: "nothing",
    becomes: "another",
  },
  {
    title: "the cluster's tag in another VPC",
    clusterID: "c1",
    there: { name: "web", tags: ["k8s:c1"], vpc_uuid: OTHER_VPC },
    by: "id",
    becomes: "refused",
  },
];

describe("an existing load balancer", () => {
  test.for(ROWS)("$title, named by $by: $becomes", async ({ clusterID, there, by, becomes }) => {
    const config = clusterID === undefined ? {} : { clusterID };
    const [cloud, settings] = [world.cloud(config), buildSettings(config)];
    const found = world.fake.addLoadBalancer(there);
    const before = structuredClone(found);
    const annotations = by === "id" ? { [ID]: found.id } : by === "name" ? { name: found.name } : {};
    const service = buildService({ annotations });
    const { last } = await converge(cloud, settings, service, { nodes: buildNodes([world.fake.add()]) });
    const after = world.fake.loadBalancers.get(found.id);
    if (becomes === "ours") {
      expect(last).toMatchObject({ kind: "settled" });
      expect(after?.droplet_ids).toHaveLength(1);
      expect(world.fake.loadBalancers.size).toBe(1);
    } else {
      expect(last).toMatchObject(
        becomes === "another"
          ? { kind: "settled" }
          : { kind: "refused", issue: { code: "LoadBalancerForeign" } },
      );
      expect(after).toEqual(before);
      expect(world.fake.loadBalancers.size).toBe(becomes === "another" ? 2 : 1);
    }
  });

  test.for(ROWS)(
    "$title, named by $by: $becomes, after the Service is deleted",
    async ({ clusterID, there, by, becomes }) => {
      const config = clusterID === undefined ? {} : { clusterID };
      const found = world.fake.addLoadBalancer(there);
      const annotations = by === "id" ? { [ID]: found.id } : by === "name" ? { name: found.name } : {};
      const { last } = await converge(
        world.cloud(config),
        buildSettings(config),
        buildService({ annotations }),
        { wanted: false },
      );
      expect(last).toEqual({ kind: "settled", ingress: [], warnings: [] });
      expect(world.fake.loadBalancers.has(found.id)).toBe(becomes !== "ours");
    },
  );
});

test("an invalid ID in the annotation is rejected before any request, and never becomes part of a path", async () => {
  const service = buildService({ annotations: { [ID]: "../droplets/3164444" } });
  const [cloud, settings] = [world.cloud(), buildSettings()];
  const { last } = await converge(cloud, settings, service, { nodes: buildNodes([world.fake.add()]) });
  expect(last).toMatchObject({ kind: "refused", issue: { code: "InvalidAnnotation", field: ID } });
  expect(world.fake.requests).toEqual([]);
  const ours = world.fake.addLoadBalancer({ name: DEFAULT_NAME });
  await converge(cloud, settings, service, { wanted: false });
  expect(world.fake.loadBalancers.has(ours.id)).toBe(false);
});

test("two possible load balancers of the Service are left alone", async () => {
  world.fake.addLoadBalancer({ name: DEFAULT_NAME });
  world.fake.addLoadBalancer({ name: DEFAULT_NAME });
  const before = structuredClone([...world.fake.loadBalancers.values()]);
  const { last } = await converge(world.cloud(), buildSettings(), buildService(), {
    nodes: buildNodes([world.fake.add()]),
  });
  expect(last).toMatchObject({ kind: "refused", issue: { code: "AmbiguousLoadBalancer" } });
  expect([...world.fake.loadBalancers.values()]).toEqual(before);
});

describe("a load balancer with a name in its annotation", () => {
  test("is recognized later by the tag from its creation", async () => {
    const [cloud, settings, nodes] = [world.cloud(), buildSettings(), buildNodes([world.fake.add()])];
    const asked = buildService({ annotations: { name: "shop" } });
    const made = await converge(cloud, settings, asked, { nodes });
    expect([...world.fake.loadBalancers.values()]).toMatchObject([
      { name: "shop", tags: [`k8s-service:${UID}`] },
    ]);
    const again = await converge(cloud, settings, asked, { nodes });
    expect(again.service.metadata.annotations?.[ID]).toBe(made.service.metadata.annotations?.[ID]);
    expect(world.fake.loadBalancers.size).toBe(1);
    await converge(cloud, settings, asked, { wanted: false });
    expect(world.fake.loadBalancers.size).toBe(0);
  });

  const renames = [
    { title: "is renamed with the cluster's tag", clusterID: "c1", name: "shop", warnings: [] },
    {
      title: "keeps its name without the cluster's tag, as the name identifies it",
      name: DEFAULT_NAME,
      warnings: [{ code: "LoadBalancerImmutable" }],
    },
  ];
  test.for(renames)("$title", async ({ clusterID, name, warnings }) => {
    const config = clusterID === undefined ? {} : { clusterID };
    const [cloud, settings, nodes] = [
      world.cloud(config),
      buildSettings(config),
      buildNodes([world.fake.add()]),
    ];
    const made = await converge(cloud, settings, buildService(), { nodes });
    const asked = buildService({ annotations: { ...made.service.metadata.annotations, name: "shop" } });
    const { last } = await converge(cloud, settings, asked, { nodes });
    expect(last).toMatchObject({ kind: "settled", warnings });
    expect([...world.fake.loadBalancers.values()]).toMatchObject([{ name }]);
  });
});

test("rejects a name annotation with the default name of another Service's load balancer", async () => {
  const service = buildService({ annotations: { name: `a${"0".repeat(31)}` } });
  const nodes = buildNodes([world.fake.add()]);
  const { last } = await converge(world.cloud(), buildSettings(), service, { nodes });
  expect(last).toMatchObject({ kind: "refused", issue: { code: "InvalidAnnotation" } });
  const own = buildService({ annotations: { name: DEFAULT_NAME } });
  expect((await converge(world.cloud(), buildSettings(), own, { nodes })).last.kind).toBe("settled");
  expect([...world.fake.loadBalancers.values()]).toMatchObject([{ name: DEFAULT_NAME, tags: [] }]);
});

test("a Service with two load balancers uses the one with its ID, and both are deleted with it", async () => {
  const [cloud, settings, nodes] = [world.cloud(), buildSettings(), buildNodes([world.fake.add()])];
  const second = world.fake.addLoadBalancer({ name: DEFAULT_NAME });
  const first = world.fake.addLoadBalancer({ name: DEFAULT_NAME });
  const service = buildService({ annotations: { [ID]: first.id } });
  expect((await converge(cloud, settings, service, { nodes })).last.kind).toBe("settled");
  expect(world.fake.loadBalancers.get(second.id)?.droplet_ids).toEqual([]);
  const gone = await converge(cloud, settings, service, { wanted: false });
  expect(gone.done).toEqual(["DeleteLoadBalancer", "DeleteLoadBalancer"]);
  expect(world.fake.loadBalancers.size).toBe(0);
});

describe("a UID that an API server has forged", () => {
  // With `a` in front, and without its dash, it is another owner's name.
  const uid = "pi-gateway";

  test.each([{}, { clusterID: "c1" }])("makes no foreign load balancer the Service's: %o", async (config) => {
    const [cloud, settings] = [world.cloud(config), buildSettings(config)];
    const theirs = world.fake.addLoadBalancer({ name: "apigateway" });
    const before = structuredClone(theirs);
    const service = buildService({ uid });
    const { last } = await converge(cloud, settings, service, { nodes: buildNodes([world.fake.add()]) });
    expect(last).toMatchObject({ kind: "refused", issue: { code: "LoadBalancerForeign" } });
    await converge(cloud, settings, service, { wanted: false });
    expect(world.fake.loadBalancers.get(theirs.id)).toEqual(before);
  });

  test("does not prevent its own load balancer from being found and deleted", async () => {
    const [cloud, settings] = [world.cloud(), buildSettings()];
    const nodes = buildNodes([world.fake.add()]);
    const service = buildService({ uid });
    for (let times = 0; times < 2; times += 1)
      expect((await converge(cloud, settings, service, { nodes })).last).toMatchObject({ kind: "settled" });
    expect(world.fake.loadBalancers.size).toBe(1);
    await converge(cloud, settings, service, { wanted: false });
    expect(world.fake.loadBalancers.size).toBe(0);
  });
});

describe("allow.loadBalancers", () => {
  const UNTAGGED = { name: "apigateway", tags: [] as string[] };
  const own = async (
    traits: Partial<typeof UNTAGGED>,
    listed: (id: string) => string[],
    by: "id" | "name",
  ) => {
    const there = world.fake.addLoadBalancer({ ...UNTAGGED, ...traits });
    const config = { clusterID: "c1", allow: { loadBalancers: listed(there.id) } };
    const annotations: Record<string, string> = by === "id" ? { [ID]: there.id } : { name: there.name };
    const asked = buildService({ annotations });
    const world1 = [world.cloud(config), buildSettings(config)] as const;
    const { last, service } = await converge(...world1, asked, { nodes: buildNodes([world.fake.add()]) });
    if (last.kind === "settled") {
      await converge(...world1, service, { wanted: false });
      expect(world.fake.loadBalancers.has(there.id)).toBe(false);
    } else expect(world.fake.loadBalancers.get(there.id)).toEqual(there);
    return last.kind === "refused" ? last.issue.code : last.kind;
  };
  const OTHERS_NAME = `a${"0".repeat(31)}`;

  test.each<[string, Partial<typeof UNTAGGED>, (id: string) => string[], "id" | "name", string]>([
    ["an untagged one by its ID: allowed", {}, (id) => [id], "id", "settled"],
    ["an untagged one by its name: allowed", {}, () => ["apigateway"], "id", "settled"],
    ["an untagged one by a prefix of its name: allowed", {}, () => ["api*"], "name", "settled"],
    ["another one: rejected", {}, () => ["other"], "id", "LoadBalancerForeign"],
    ["another cluster's: rejected", { tags: ["k8s:c2"] }, (id) => [id, "*"], "id", "LoadBalancerForeign"],
    [
      "one with the name of another Service's, by a pattern: rejected",
      { name: OTHERS_NAME },
      () => ["*"],
      "id",
      "LoadBalancerForeign",
    ],
    [
      "one with the name of another Service's, by its ID: allowed",
      { name: OTHERS_NAME },
      (id) => [id],
      "id",
      "settled",
    ],
  ])("lists %s", async (_, traits, listed, by, expected) => {
    expect(await own(traits, listed, by)).toBe(expected);
  });
});
