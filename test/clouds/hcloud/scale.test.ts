import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import type { Node } from "#core/node/node.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import { type FakeHcloudServer, NETWORK_NAME, SELECTOR } from "#test/clouds/hcloud/fake-server.ts";
import {
  buildIdentifiedNode,
  buildNamedNode,
  countRequests,
  createNodeWorld,
  type HcloudWorld,
} from "#test/clouds/hcloud/world.ts";

let world: HcloudWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const addMany = (count: number, traits: Partial<FakeHcloudServer> = {}): FakeHcloudServer[] =>
  Array.from({ length: count }, () => world.fake.add(traits));
const idsOf = (servers: readonly FakeHcloudServer[]): string[] => servers.map(({ id }) => id);
const ask = async (cloud: Cloud, nodes: readonly Node[]): Promise<string[]> =>
  (await cloud.instances(nodes, buildCall())).answers.map(formatAnswer);
const batches = (nodes: readonly Node[]): Node[][] =>
  Array.from({ length: Math.ceil(nodes.length / 100) }, (_, batch) =>
    nodes.slice(batch * 100, (batch + 1) * 100),
  );

describe("1,000 nodes in ten batches cost the twenty pages of one list", () => {
  const ways = { "by provider ID": buildIdentifiedNode, "by name": buildNamedNode };

  test.each(Object.entries(ways))("%s, all at once, each with a tenth of the quota", async (_, nodeOf) => {
    const servers = addMany(1000);
    const cloud = world.cloud();
    const results = await Promise.all(
      batches(servers.map(nodeOf)).map((batch) => cloud.instances(batch, buildCall({ share: 0.1 }))),
    );
    expect(results.flatMap(({ answers }) => answers.map(formatAnswer))).toEqual(idsOf(servers));
    expect(countRequests(world.fake)).toEqual({ list: 20 });
    const counted = results.map(({ usage }) => usage.calls["servers_list"] ?? 0);
    expect(counted.reduce((sum, each) => sum + each, 0)).toBe(20);
  });

  test("one after another, and one request more for a network configured by name", async () => {
    const servers = addMany(1000);
    const cloud = world.cloud({ network: NETWORK_NAME });
    const found: string[] = [];
    for (const batch of batches(servers.map(buildIdentifiedNode))) found.push(...(await ask(cloud, batch)));
    expect(found).toEqual(idsOf(servers));
    expect(countRequests(world.fake)).toEqual({ networks: 1, list: 20 });
  });

  test("and 20 nodes among many of others take the page that has their labels", async () => {
    addMany(600, { labels: { cluster: "green" } });
    const ours = addMany(20);
    expect(await ask(world.cloud({ network: undefined }), ours.map(buildIdentifiedNode))).toEqual(
      idsOf(ours),
    );
    expect(countRequests(world.fake)).toEqual({ list: 1 });
    expect(Object.fromEntries(world.fake.requests[0]?.query ?? [])).toEqual({
      page: "1",
      per_page: "50",
      sort: "id:asc",
      label_selector: SELECTOR,
    });
  });
});

describe("a list", () => {
  test("is reused for ten seconds for its entries, and then read again", async () => {
    const nodes = addMany(3).map(buildIdentifiedNode);
    const cloud = world.cloud();
    await ask(cloud, nodes);
    world.pass(9_999);
    await ask(cloud, nodes);
    expect(countRequests(world.fake)).toEqual({ list: 1 });
    world.pass(1);
    await ask(cloud, nodes);
    expect(countRequests(world.fake)).toEqual({ list: 2 });
  });

  test("never proves that a server is gone: only a single read does", async () => {
    const servers = addMany(3);
    const cloud = world.cloud();
    world.fake.before = ({ path }) => {
      for (const server of servers) server.hidden = path === "/v1/servers";
    };
    expect(await ask(cloud, servers.map(buildIdentifiedNode))).toEqual(idsOf(servers));
    expect(countRequests(world.fake)).toEqual({ list: 1, read: 3 });
  });

  test("from an earlier time does not show that a server is foreign", async () => {
    const [tardy, ...others] = addMany(4) as [FakeHcloudServer, ...FakeHcloudServer[]];
    const cloud = world.cloud({ labelSelector: undefined });
    const { private_net: attached } = tardy;
    tardy.private_net = [];
    expect(await ask(cloud, [tardy, ...others].map(buildIdentifiedNode))).toEqual([
      "Foreign",
      ...idsOf(others),
    ]);
    tardy.private_net = attached;
    world.pass(1);
    expect(await ask(cloud, [buildIdentifiedNode(tardy)])).toEqual([tardy.id]);
    expect(countRequests(world.fake)).toEqual({ list: 1, read: 2 });
  });

  test("with a failed page shows what is on the others, and proves nothing about names", async () => {
    const servers = addMany(150);
    world.fake.fault = ({ query }) => (query.get("page") === "3" ? { status: 500, body: "" } : undefined);
    const [first, last] = [servers[0], servers[149]] as [FakeHcloudServer, FakeHcloudServer];
    const nodes = [
      ...servers.slice(0, 60).map(buildIdentifiedNode),
      buildIdentifiedNode(last),
      buildNamedNode(first),
    ];
    const answers = await ask(world.cloud(), nodes);
    expect(answers.slice(0, 60)).toEqual(idsOf(servers.slice(0, 60)));
    expect(answers.slice(60)).toEqual(["Unavailable", "Unavailable"]);
  });

  test("ends at two hundred pages, and says how to shorten it", async () => {
    world.fake.fault = ({ path, query }) => {
      if (path !== "/v1/servers") return undefined;
      const pagination = { next_page: Number(query.get("page")) + 1, last_page: 1_000 };
      return { status: 200, body: JSON.stringify({ servers: [], meta: { pagination } }) };
    };
    const { answers } = await world.cloud().instances([buildNode({ name: "unknown" })], buildCall());
    expect(answers).toMatchObject([
      { code: "Unavailable", message: expect.stringContaining("labelSelector") },
    ]);
    expect(countRequests(world.fake)).toEqual({ list: 200 });
  });
});

test("a visibility probe is found behind any number of foreign servers in the network", async () => {
  addMany(120, { private_net: [] });
  const [ours] = addMany(1) as [FakeHcloudServer];
  const node = buildNode({ name: "gone", providerID: "hcloud://999999999" });
  const cloud = world.cloud({ labelSelector: undefined });
  const { answers } = await cloud.instances([node], buildCall({ control: true }));
  expect(answers).toMatchObject([{ kind: "not-found", control: { id: ours.id } }]);
  expect(countRequests(world.fake)).toEqual({ read: 1, list: 1 + 3, actions: 1 });
});

describe("single reads", () => {
  test("serve up to two IDs, and after as many as a list has pages a list is read", async () => {
    const servers = addMany(5);
    const cloud = world.cloud();
    const nodes = servers.map(buildIdentifiedNode);
    await ask(cloud, nodes.slice(0, 2));
    expect(countRequests(world.fake)).toEqual({ read: 2 });
    expect(await ask(cloud, nodes.slice(2, 3))).toEqual(idsOf(servers.slice(2, 3)));
    await ask(cloud, nodes);
    expect(countRequests(world.fake)).toEqual({ read: 2, list: 1 });
  });

  test("are bounded: of a hundred IDs of another project ten are read, and the others wait", async () => {
    const nodes = Array.from({ length: 100 }, (_, index) =>
      buildNode({ name: `n-${index}`, providerID: `hcloud://${900_000 + index}` }),
    );
    const answers = await ask(world.cloud(), nodes);
    expect(answers.filter((each) => each === "not-found")).toHaveLength(10);
    expect(answers.filter((each) => each === "Unavailable")).toHaveLength(90);
    expect(countRequests(world.fake)).toEqual({ list: 1, read: 10 });
  });
});
