import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import type { Node } from "#core/node/node.ts";
import { aCall, aNode } from "#test/clouds/builders.ts";
import { summary } from "#test/clouds/conformance.ts";
import { aPort, type FakeOpenStackServer, NETWORK, TAG, uuidOf } from "#test/clouds/openstack/fake-server.ts";
import { asked, aWorld, identified, named, type OpenStackWorld } from "#test/clouds/openstack/world.ts";

let world: OpenStackWorld;
beforeEach(async () => {
  world = await aWorld();
});
afterEach(() => world.close());

const addMany = (count: number, traits: Partial<FakeOpenStackServer> = {}): FakeOpenStackServer[] =>
  Array.from({ length: count }, () => world.fake.add(traits));
const idsOf = (servers: readonly FakeOpenStackServer[]): string[] => servers.map(({ id }) => id);
const ask = async (cloud: Cloud, nodes: readonly Node[]): Promise<string[]> =>
  (await cloud.instances(nodes, aCall())).answers.map(summary);
const batches = (nodes: readonly Node[]): Node[][] =>
  Array.from({ length: Math.ceil(nodes.length / 100) }, (_, batch) =>
    nodes.slice(batch * 100, (batch + 1) * 100),
  );

describe("1,000 nodes in ten batches cost one sign-in, and two pages of servers and of ports", () => {
  const ways = { "by provider ID": identified, "by name": named };

  test.each(Object.entries(ways))("%s, all at once, each with a tenth of the quota", async (_, nodeOf) => {
    const servers = addMany(1000);
    const cloud = world.cloud({ "network-id": NETWORK });
    const results = await Promise.all(
      batches(servers.map(nodeOf)).map((batch) => cloud.instances(batch, aCall({ share: 0.1 }))),
    );
    expect(results.flatMap(({ answers }) => answers.map(summary))).toEqual(idsOf(servers));
    // A page that is full says that there may be another.
    expect(asked(world.fake)).toEqual({ token: 1, list: 2, ports: 2 });
  });

  test("one after another", async () => {
    const servers = addMany(999);
    const cloud = world.cloud();
    const found: string[] = [];
    for (const batch of batches(servers.map(identified))) found.push(...(await ask(cloud, batch)));
    expect(found).toEqual(idsOf(servers));
    expect(asked(world.fake)).toEqual({ token: 1, list: 1, ports: 1 });
  });

  test("and more pages where the services hand out less at a time", async () => {
    world.fake.maxPage = 300;
    const servers = addMany(1000, {});
    expect(await ask(world.cloud(), servers.slice(950).map(identified))).toEqual(idsOf(servers.slice(950)));
    expect(asked(world.fake)).toEqual({ token: 1, list: 4, ports: 4 });
  });
});

test("a list is narrowed by the tag", async () => {
  addMany(5, { tags: ["theirs"] });
  const ours = addMany(3);
  expect(await ask(world.cloud(), ours.map(named))).toEqual(idsOf(ours));
  const listed = world.fake.requests.find(({ path }) => path.endsWith("/servers/detail"));
  expect(Object.fromEntries(listed?.query ?? [])).toEqual({ limit: "1000", tags: TAG });
});

describe("a list", () => {
  test("is believed for ten seconds of what it shows, and then made anew", async () => {
    const nodes = addMany(3).map(identified);
    const cloud = world.cloud();
    await ask(cloud, nodes);
    world.pass(9_999);
    await ask(cloud, nodes);
    expect(asked(world.fake)).toMatchObject({ list: 1, ports: 1 });
    world.pass(1);
    await ask(cloud, nodes);
    expect(asked(world.fake)).toMatchObject({ list: 2, ports: 2 });
  });

  test("never shows that a server is gone: only reading it does", async () => {
    const servers = addMany(3);
    const cloud = world.cloud();
    world.fake.before = ({ path }) => {
      for (const server of servers) server.hidden = path.endsWith("/servers/detail");
    };
    expect(await ask(cloud, servers.map(identified))).toEqual(idsOf(servers));
    expect(asked(world.fake)).toEqual({ token: 1, list: 1, ports: 4, read: 3 });
  });

  test("of ports that is from before a server does not tell that it is somebody else's", async () => {
    const [tardy, ...others] = addMany(4) as [FakeOpenStackServer, ...FakeOpenStackServer[]];
    const cloud = world.cloud({ "network-id": NETWORK });
    tardy.ports = [];
    expect(await ask(cloud, [tardy, ...others].map(identified))).toEqual(["Foreign", ...idsOf(others)]);
    tardy.ports = [aPort("late", "10.20.9.9")];
    world.pass(1);
    expect(await ask(cloud, [identified(tardy)])).toEqual([tardy.id]);
  });
});

test("reading singly is bounded: of a hundred ids of another project ten are read, and the others wait", async () => {
  const nodes = Array.from({ length: 100 }, (_, index) =>
    aNode({ name: `n-${index}`, providerID: `openstack:///${uuidOf(900_000 + index)}` }),
  );
  const answers = await ask(world.cloud(), nodes);
  expect(answers.filter((each) => each === "not-found")).toHaveLength(10);
  expect(answers.filter((each) => each === "Unavailable")).toHaveLength(90);
  expect(asked(world.fake)).toEqual({ token: 1, list: 1, ports: 11, read: 10 });
});

test("what is missed is proved by a server of the network with one request of each service", async () => {
  const [ours] = addMany(1) as [FakeOpenStackServer];
  const cloud = world.cloud({ "network-id": NETWORK });
  const node = aNode({ name: "gone", providerID: `openstack:///${uuidOf(999)}` });
  const { answers } = await cloud.instances([node], aCall({ control: true }));
  expect(answers).toMatchObject([{ kind: "not-found", control: { id: ours.id } }]);
  expect(asked(world.fake)).toEqual({ token: 1, read: 1, ports: 2, list: 1 });
});

test("and behind however many of others with those of one list", async () => {
  addMany(50, { ports: [] });
  const [ours] = addMany(1) as [FakeOpenStackServer];
  const cloud = world.cloud({ "network-id": NETWORK, "server-tag": undefined, "server-metadata": undefined });
  const node = aNode({ name: "gone", providerID: `openstack:///${uuidOf(999)}` });
  const { answers } = await cloud.instances([node], aCall({ control: true }));
  expect(answers).toMatchObject([{ kind: "not-found", control: { id: ours.id } }]);
  expect(asked(world.fake)).toEqual({ token: 1, read: 1, ports: 3, list: 2 });
});

test("a server of somebody else's costs what none does", async () => {
  addMany(1);
  const foreign = world.fake.add({ tags: [], metadata: {} });
  const costs: Record<string, number>[] = [];
  for (const id of [foreign.id, uuidOf(999)]) {
    world.fake.requests.length = 0;
    await ask(world.cloud({ "network-id": NETWORK }), [aNode({ providerID: `openstack:///${id}` })]);
    costs.push(asked(world.fake));
  }
  expect(costs[0]).toEqual(costs[1]);
});
