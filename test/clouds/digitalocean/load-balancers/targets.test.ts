import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { TargetNode } from "#core/service/model.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import {
  buildNodes,
  buildService,
  buildSettings,
  converge,
} from "#test/clouds/digitalocean/load-balancers/round.ts";
import { createNodeWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const targets = () => [...world.fake.loadBalancers.values()].map(({ droplet_ids: ids }) => ids);

const PRIVATE = { ip_address: "10.114.9.9", netmask: "255.255.240.0", type: "private" };
const V4 = { ip_address: "203.0.113.9", netmask: "255.255.240.0", gateway: "203.0.113.1", type: "public" };
const V6 = { ip_address: "2604:a880::9", netmask: 64, gateway: "2604:a880::1", type: "public" };

describe("the nodes that a load balancer sends to", () => {
  const nodes = {
    "public IPv4": { v4: [PRIVATE, V4], v6: [] },
    "public IPv4 and IPv6": { v4: [PRIVATE, V4], v6: [V6] },
    "public IPv6 alone": { v4: [PRIVATE], v6: [V6] },
    "private IPv4 alone": { v4: [PRIVATE], v6: [] },
  };
  const kinds = [
    {
      type: "REGIONAL",
      network: "INTERNAL",
      takes: ["public IPv4", "public IPv4 and IPv6", "public IPv6 alone", "private IPv4 alone"],
      stack: "IPV4",
    },
    {
      type: "REGIONAL_NETWORK",
      network: "INTERNAL",
      takes: ["public IPv4", "public IPv4 and IPv6", "public IPv6 alone", "private IPv4 alone"],
      stack: "IPV4",
    },
    {
      type: "REGIONAL",
      network: "EXTERNAL",
      takes: ["public IPv4", "public IPv4 and IPv6", "private IPv4 alone"],
      stack: "DUALSTACK",
    },
    {
      type: "REGIONAL_NETWORK",
      network: "EXTERNAL",
      takes: ["public IPv4", "public IPv4 and IPv6"],
      stack: "IPV4",
    },
  ];
  test.for(kinds)("$type, $network", async ({ type, network, takes, stack }) => {
    const droplets = Object.entries(nodes).map(([name, networks]) => world.fake.add({ name, networks }));
    const service = buildService({ annotations: { type, network } });
    const { last } = await converge(world.cloud(), buildSettings(), service, { nodes: buildNodes(droplets) });
    expect(last).toMatchObject({ kind: "settled" });
    const wanted = droplets.filter(({ name }) => takes.includes(name)).map(({ id }) => id);
    expect([...world.fake.loadBalancers.values()]).toMatchObject([
      { type, network, network_stack: stack, droplet_ids: wanted },
    ]);
  });

  test("if no node has a public address, the Warning names the options and nothing is made", async () => {
    const droplets = [world.fake.add({ networks: nodes["private IPv4 alone"] })];
    const { last } = await converge(world.cloud(), buildSettings(), buildService(), {
      nodes: buildNodes(droplets),
    });
    expect(last).toMatchObject({
      kind: "refused",
      issue: { code: "NodesWithoutPublicAddress", stockReason: "LoadBalancerConfigError" },
    });
    expect(targets()).toEqual([]);
  });

  const stacks = [
    { annotations: { network: "INTERNAL", "network-stack": "DUALSTACK" }, allowed: /internal/ },
    { annotations: { "network-stack": "DUALSTACK" }, allowed: /IPv6/ },
  ];
  test.for(stacks)("both IP families are impossible: $annotations", async ({ annotations, allowed }) => {
    const droplets = Array.from({ length: 5 }, () => world.fake.add());
    const service = buildService({ annotations: annotations as Record<string, string> });
    const { last } = await converge(world.cloud(), buildSettings(), service, { nodes: buildNodes(droplets) });
    expect(last).toMatchObject({
      kind: "refused",
      issue: {
        code: "InvalidAnnotation",
        allowed: expect.stringMatching(allowed),
        stockReason: "LoadBalancerConfigError",
      },
    });
  });
});

describe("a load balancer without usable nodes", () => {
  const rows: readonly {
    title: string;
    traits?: Partial<FakeDroplet>;
    node?: Partial<TargetNode>;
    warned: boolean;
  }[] = [
    {
      title: "a droplet of another VPC",
      traits: { vpc_uuid: "5a4981aa-9653-4bd1-bef5-d6bff52042e4" },
      warned: true,
    },
    { title: "a droplet without the cluster's tag", traits: { tags: ["shop"] }, warned: true },
    { title: "a droplet of another region", traits: { region: "nyc1" }, warned: true },
    { title: "a missing droplet", traits: { hidden: true }, warned: false },
    {
      title: "a provider ID of another cloud",
      node: { providerID: "aws:///eu-central-1a/i-0123456789abcdef0" },
      warned: true,
    },
    { title: "an invalid provider ID", node: { providerID: "digitalocean://-1" }, warned: true },
  ];
  test.for(rows)("$title is left out, and the others are served", async ({ traits, node, warned }) => {
    const good = world.fake.add();
    const bad = world.fake.add({ ...traits });
    const nodes = [...buildNodes([good]), { name: "bad", providerID: `digitalocean://${bad.id}`, ...node }];
    const { last } = await converge(world.cloud(), buildSettings(), buildService(), { nodes });
    expect(last).toMatchObject({ kind: "settled", warnings: warned ? [{ code: "NodeNotUsable" }] : [] });
    expect(targets()).toEqual([[good.id]]);
  });

  test("a node without a provider ID is found by its name", async () => {
    const droplet = world.fake.add();
    const nodes = [{ name: droplet.name }];
    await converge(world.cloud(), buildSettings(), buildService(), { nodes });
    expect(targets()).toEqual([[droplet.id]]);
  });
});

describe("an unknown target", () => {
  test("stays: ten of 27 nodes with missing droplets are read, and the others wait", async () => {
    const droplets = Array.from({ length: 30 }, () => world.fake.add());
    const [cloud, settings] = [world.cloud(), buildSettings()];
    const made = await converge(cloud, settings, buildService(), { nodes: buildNodes(droplets) });
    for (const { id } of droplets.slice(3)) world.fake.droplets.delete(id);
    world.pass(20_000);
    const { last } = await converge(cloud, settings, made.service, { nodes: buildNodes(droplets) });
    expect(last).toMatchObject({ kind: "settled" });
    const [ids = []] = targets();
    expect(ids.filter((id) => world.fake.droplets.has(id))).toEqual(droplets.slice(0, 3).map(({ id }) => id));
    const reads = world.fake.requests.filter(({ path }) => path.startsWith("/v2/droplets/"));
    expect(reads).toHaveLength(10);
  });

  test.for([
    { title: "throttled", answer: { status: 429, body: "{}" }, code: "Throttled" },
    { title: "denied", answer: { status: 401, body: "{}" }, code: "Denied" },
    { title: "failing", answer: { status: 500, body: "{}" }, code: "Unavailable" },
    { title: "talking rubbish", answer: { status: 200, body: "<html>" }, code: "Unavailable" },
    { title: "silent", answer: "destroy" as const, code: "Unavailable" },
  ])("an API that is $title changes nothing", async ({ answer, code }) => {
    const droplets = [world.fake.add(), world.fake.add()];
    const [cloud, settings, nodes] = [world.cloud(), buildSettings(), buildNodes(droplets)];
    const made = await converge(cloud, settings, buildService(), { nodes });
    const before = structuredClone([...world.fake.loadBalancers.values()]);
    for (const path of ["/v2/droplets", "/v2/load_balancers"]) {
      world.fake.fault = (request) => (request.path.startsWith(path) ? answer : undefined);
      world.pass(120_000);
      const { last } = await converge(cloud, settings, made.service, { nodes: nodes.slice(1) });
      expect(last).toMatchObject({ kind: "error", code });
    }
    expect([...world.fake.loadBalancers.values()]).toEqual(before);
  });

  test("targets stay if the account has no droplet of the cluster any more", async () => {
    const droplet = world.fake.add();
    const [cloud, settings, nodes] = [world.cloud(), buildSettings(), buildNodes([droplet])];
    const made = await converge(cloud, settings, buildService(), { nodes });
    droplet.tags = [];
    world.pass(20_000);
    const { last } = await converge(cloud, settings, made.service, { nodes, waits: 0 });
    expect(last).toMatchObject({ kind: "refused", issue: { code: "NodeNotUsable" } });
    expect(targets()).toEqual([[droplet.id]]);
  });

  test("if no node is a droplet of the cluster, a Warning says so and nothing is made", async () => {
    const nodes = buildNodes([world.fake.add({ tags: [] }), world.fake.add({ region: "nyc1" })]);
    const { last } = await converge(world.cloud(), buildSettings(), buildService(), { nodes, waits: 0 });
    expect(last).toMatchObject({ kind: "refused", issue: { code: "NodeNotUsable" } });
    expect(targets()).toEqual([]);
  });

  test("without nodes no load balancer is made, and an existing one has no targets", async () => {
    const [cloud, settings, nodes] = [world.cloud(), buildSettings(), buildNodes([world.fake.add()])];
    const none = await converge(cloud, settings, buildService(), { waits: 0 });
    expect(none.last).toMatchObject({ kind: "wait", because: { code: "NoTargets" } });
    const made = await converge(cloud, settings, buildService(), { nodes });
    const { last } = await converge(cloud, settings, made.service);
    expect(last).toMatchObject({ kind: "settled" });
    expect(targets()).toEqual([[]]);
  });
});
