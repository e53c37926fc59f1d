import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import type { Node } from "#core/node/node.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import {
  buildPort,
  type FakeOpenStackServer,
  formatUuid,
  NETWORK,
  TAG,
} from "#test/clouds/openstack/fake-server.ts";
import {
  buildIdentifiedNode,
  buildNamedNode,
  countRequests,
  createNodeWorld,
  type OpenStackWorld,
} from "#test/clouds/openstack/world.ts";

let world: OpenStackWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const addMany = (count: number, traits: Partial<FakeOpenStackServer> = {}): FakeOpenStackServer[] =>
  Array.from({ length: count }, () => world.fake.add(traits));
const idsOf = (servers: readonly FakeOpenStackServer[]): string[] => servers.map(({ id }) => id);
const ask = async (cloud: Cloud, nodes: readonly Node[]): Promise<string[]> =>
  (await cloud.instances(nodes, buildCall())).answers.map(formatAnswer);
const batches = (nodes: readonly Node[]): Node[][] =>
  Array.from({ length: Math.ceil(nodes.length / 100) }, (_, batch) =>
    nodes.slice(batch * 100, (batch + 1) * 100),
  );

describe("1,000 nodes in ten batches cost one sign-in, and two pages of servers and of ports", () => {
  const ways = { "by provider ID": buildIdentifiedNode, "by name": buildNamedNode };

  test.each(Object.entries(ways))("%s, all at once, each with a tenth of the quota", async (_, nodeOf) => {
    const servers = addMany(1000);
    const cloud = world.cloud({ "network-id": NETWORK });
    const results = await Promise.all(
      batches(servers.map(nodeOf)).map((batch) => cloud.instances(batch, buildCall({ share: 0.1 }))),
    );
    expect(results.flatMap(({ answers }) => answers.map(formatAnswer))).toEqual(idsOf(servers));
    // A full page says that another one may follow.
    expect(countRequests(world.fake)).toEqual({ token: 1, list: 2, ports: 2 });
  });

  test("one after another", async () => {
    const servers = addMany(999);
    const cloud = world.cloud();
    const found: string[] = [];
    for (const batch of batches(servers.map(buildIdentifiedNode))) found.push(...(await ask(cloud, batch)));
    expect(found).toEqual(idsOf(servers));
    expect(countRequests(world.fake)).toEqual({ token: 1, list: 1, ports: 1 });
  });

  test("and more pages if the services return shorter ones", async () => {
    world.fake.maxPage = 300;
    const servers = addMany(1000, {});
    expect(await ask(world.cloud(), servers.slice(950).map(buildIdentifiedNode))).toEqual(
      idsOf(servers.slice(950)),
    );
    expect(countRequests(world.fake)).toEqual({ token: 1, list: 4, ports: 4 });
  });
});

test("a list is narrowed by the tag", async () => {
  addMany(5, { tags: ["theirs"] });
  const ours = addMany(3);
  expect(await ask(world.cloud(), ours.map(buildNamedNode))).toEqual(idsOf(ours));
  const listed = world.fake.requests.find(({ path }) => path.endsWith("/servers/detail"));
  expect(Object.fromEntries(listed?.query ?? [])).toEqual({ limit: "1000", tags: TAG });
});

describe("a list", () => {
  test("is reused for ten seconds for its entries, and then read again", async () => {
    const nodes = addMany(3).map(buildIdentifiedNode);
    const cloud = world.cloud();
    await ask(cloud, nodes);
    world.pass(9_999);
    await ask(cloud, nodes);
    expect(countRequests(world.fake)).toMatchObject({ list: 1, ports: 1 });
    world.pass(1);
    await ask(cloud, nodes);
    expect(countRequests(world.fake)).toMatchObject({ list: 2, ports: 2 });
  });

  test("never proves that a server is gone: only a single read does", async () => {
    const servers = addMany(3);
    const cloud = world.cloud();
    world.fake.before = ({ path }) => {
      for (const server of servers) server.hidden = path.endsWith("/servers/detail");
    };
    expect(await ask(cloud, servers.map(buildIdentifiedNode))).toEqual(idsOf(servers));
    expect(countRequests(world.fake)).toEqual({ token: 1, list: 1, ports: 4, read: 3 });
  });

  test("of ports from before a server does not show that the server is foreign", async () => {
    const [tardy, ...others] = addMany(4) as [FakeOpenStackServer, ...FakeOpenStackServer[]];
    const cloud = world.cloud({ "network-id": NETWORK });
    tardy.ports = [];
    expect(await ask(cloud, [tardy, ...others].map(buildIdentifiedNode))).toEqual([
      "Foreign",
      ...idsOf(others),
    ]);
    tardy.ports = [buildPort("late", "10.20.9.9")];
    world.pass(1);
    expect(await ask(cloud, [buildIdentifiedNode(tardy)])).toEqual([tardy.id]);
  });
});

test("single reads are bounded: of a hundred IDs of another project ten are read, and the others wait", async () => {
  const nodes = Array.from({ length: 100 }, (_, index) =>
    buildNode({ name: `n-${index}`, providerID: `openstack:///${formatUuid(900_000 + index)}` }),
  );
  const answers = await ask(world.cloud(), nodes);
  expect(answers.filter((each) => each === "not-found")).toHaveLength(10);
  expect(answers.filter((each) => each === "Unavailable")).toHaveLength(90);
  expect(countRequests(world.fake)).toEqual({ token: 1, list: 1, ports: 11, read: 10 });
});

test("a missing server takes one request of each service for a visibility probe in the network", async () => {
  const [ours] = addMany(1) as [FakeOpenStackServer];
  const cloud = world.cloud({ "network-id": NETWORK });
  const node = buildNode({ name: "gone", providerID: `openstack:///${formatUuid(999)}` });
  const { answers } = await cloud.instances([node], buildCall({ control: true }));
  expect(answers).toMatchObject([{ kind: "not-found", control: { id: ours.id } }]);
  expect(countRequests(world.fake)).toEqual({ token: 1, read: 1, ports: 2, list: 1 });
});

test("and behind any number of others those of one list", async () => {
  addMany(50, { ports: [] });
  const [ours] = addMany(1) as [FakeOpenStackServer];
  const cloud = world.cloud({ "network-id": NETWORK, "server-tag": undefined, "server-metadata": undefined });
  const node = buildNode({ name: "gone", providerID: `openstack:///${formatUuid(999)}` });
  const { answers } = await cloud.instances([node], buildCall({ control: true }));
  expect(answers).toMatchObject([{ kind: "not-found", control: { id: ours.id } }]);
  expect(countRequests(world.fake)).toEqual({ token: 1, read: 1, ports: 3, list: 2 });
});

test("a foreign server costs as much as a missing one", async () => {
  addMany(1);
  const foreign = world.fake.add({ tags: [], metadata: {} });
  const costs: Record<string, number>[] = [];
  for (const id of [foreign.id, formatUuid(999)]) {
    world.fake.requests.length = 0;
    await ask(world.cloud({ "network-id": NETWORK }), [buildNode({ providerID: `openstack:///${id}` })]);
    costs.push(countRequests(world.fake));
  }
  expect(costs[0]).toEqual(costs[1]);
});
