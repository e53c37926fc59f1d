import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import type { Node } from "#core/node/node.ts";
import { aCall, aNode } from "#test/clouds/builders.ts";
import { summary } from "#test/clouds/conformance.ts";
import { type FakeHcloudServer, NETWORK_NAME, SELECTOR } from "#test/clouds/hcloud/fake-server.ts";
import { asked, aWorld, type HcloudWorld, identified, named } from "#test/clouds/hcloud/world.ts";

let world: HcloudWorld;
beforeEach(async () => {
  world = await aWorld();
});
afterEach(() => world.close());

const addMany = (count: number, traits: Partial<FakeHcloudServer> = {}): FakeHcloudServer[] =>
  Array.from({ length: count }, () => world.fake.add(traits));
const idsOf = (servers: readonly FakeHcloudServer[]): string[] => servers.map(({ id }) => id);
const ask = async (cloud: Cloud, nodes: readonly Node[]): Promise<string[]> =>
  (await cloud.instances(nodes, aCall())).answers.map(summary);
const batches = (nodes: readonly Node[]): Node[][] =>
  Array.from({ length: Math.ceil(nodes.length / 100) }, (_, batch) =>
    nodes.slice(batch * 100, (batch + 1) * 100),
  );

describe("1,000 nodes in ten batches cost the twenty pages of one list", () => {
  const ways = { "by provider ID": identified, "by name": named };

  test.each(Object.entries(ways))("%s, all at once, each with a tenth of the quota", async (_, nodeOf) => {
    const servers = addMany(1000);
    const cloud = world.cloud();
    const results = await Promise.all(
      batches(servers.map(nodeOf)).map((batch) => cloud.instances(batch, aCall({ share: 0.1 }))),
    );
    expect(results.flatMap(({ answers }) => answers.map(summary))).toEqual(idsOf(servers));
    expect(asked(world.fake)).toEqual({ list: 20 });
    const counted = results.map(({ usage }) => usage.calls["servers_list"] ?? 0);
    expect(counted.reduce((sum, each) => sum + each, 0)).toBe(20);
  });

  test("one after another, and one request more for a network that is known by its name", async () => {
    const servers = addMany(1000);
    const cloud = world.cloud({ network: NETWORK_NAME });
    const found: string[] = [];
    for (const batch of batches(servers.map(identified))) found.push(...(await ask(cloud, batch)));
    expect(found).toEqual(idsOf(servers));
    expect(asked(world.fake)).toEqual({ networks: 1, list: 20 });
  });

  test("and those of 20 nodes among many of others' the page that has their labels", async () => {
    addMany(600, { labels: { cluster: "green" } });
    const ours = addMany(20);
    expect(await ask(world.cloud({ network: undefined }), ours.map(identified))).toEqual(idsOf(ours));
    expect(asked(world.fake)).toEqual({ list: 1 });
    expect(Object.fromEntries(world.fake.requests[0]?.query ?? [])).toEqual({
      page: "1",
      per_page: "50",
      sort: "id:asc",
      label_selector: SELECTOR,
    });
  });
});

describe("a list", () => {
  test("is believed for ten seconds of what it shows, and then made anew", async () => {
    const nodes = addMany(3).map(identified);
    const cloud = world.cloud();
    await ask(cloud, nodes);
    world.pass(9_999);
    await ask(cloud, nodes);
    expect(asked(world.fake)).toEqual({ list: 1 });
    world.pass(1);
    await ask(cloud, nodes);
    expect(asked(world.fake)).toEqual({ list: 2 });
  });

  test("never shows that a server is gone: only reading it does", async () => {
    const servers = addMany(3);
    const cloud = world.cloud();
    world.fake.before = ({ path }) => {
      for (const server of servers) server.hidden = path === "/v1/servers";
    };
    expect(await ask(cloud, servers.map(identified))).toEqual(idsOf(servers));
    expect(asked(world.fake)).toEqual({ list: 1, read: 3 });
  });

  test("from before does not tell that a server is somebody else's", async () => {
    const [tardy, ...others] = addMany(4) as [FakeHcloudServer, ...FakeHcloudServer[]];
    const cloud = world.cloud({ labelSelector: undefined });
    const { private_net: attached } = tardy;
    tardy.private_net = [];
    expect(await ask(cloud, [tardy, ...others].map(identified))).toEqual(["Foreign", ...idsOf(others)]);
    tardy.private_net = attached;
    world.pass(1);
    expect(await ask(cloud, [identified(tardy)])).toEqual([tardy.id]);
    expect(asked(world.fake)).toEqual({ list: 1, read: 2 });
  });

  test("of which a page fails shows what is on the others, and tells nothing of names", async () => {
    const servers = addMany(150);
    world.fake.fault = ({ query }) => (query.get("page") === "3" ? { status: 500, body: "" } : undefined);
    const [first, last] = [servers[0], servers[149]] as [FakeHcloudServer, FakeHcloudServer];
    const nodes = [...servers.slice(0, 60).map(identified), identified(last), named(first)];
    const answers = await ask(world.cloud(), nodes);
    expect(answers.slice(0, 60)).toEqual(idsOf(servers.slice(0, 60)));
    expect(answers.slice(60)).toEqual(["Unavailable", "Unavailable"]);
  });

  test("ends at two hundred pages, and says what makes it shorter", async () => {
    world.fake.fault = ({ path, query }) => {
      if (path !== "/v1/servers") return undefined;
      const pagination = { next_page: Number(query.get("page")) + 1, last_page: 1_000 };
      return { status: 200, body: JSON.stringify({ servers: [], meta: { pagination } }) };
    };
    const { answers } = await world.cloud().instances([aNode({ name: "nobody" })], aCall());
    expect(answers).toMatchObject([
      { code: "Unavailable", message: expect.stringContaining("labelSelector") },
    ]);
    expect(asked(world.fake)).toEqual({ list: 200 });
  });
});

test("what is missed is proved by a server of the network behind however many of others, too", async () => {
  addMany(120, { private_net: [] });
  const [ours] = addMany(1) as [FakeHcloudServer];
  const node = aNode({ name: "gone", providerID: "hcloud://999999999" });
  const cloud = world.cloud({ labelSelector: undefined });
  const { answers } = await cloud.instances([node], aCall({ control: true }));
  expect(answers).toMatchObject([{ kind: "not-found", control: { id: ours.id } }]);
  expect(asked(world.fake)).toEqual({ read: 1, list: 1 + 3, actions: 1 });
});

describe("reading singly", () => {
  test("is for up to two, and once there were as many as a list has pages it is time for a list", async () => {
    const servers = addMany(5);
    const cloud = world.cloud();
    const nodes = servers.map(identified);
    await ask(cloud, nodes.slice(0, 2));
    expect(asked(world.fake)).toEqual({ read: 2 });
    expect(await ask(cloud, nodes.slice(2, 3))).toEqual(idsOf(servers.slice(2, 3)));
    await ask(cloud, nodes);
    expect(asked(world.fake)).toEqual({ read: 2, list: 1 });
  });

  test("is bounded: of a hundred ids of another project ten are read, and the others wait", async () => {
    const nodes = Array.from({ length: 100 }, (_, index) =>
      aNode({ name: `n-${index}`, providerID: `hcloud://${900_000 + index}` }),
    );
    const answers = await ask(world.cloud(), nodes);
    expect(answers.filter((each) => each === "not-found")).toHaveLength(10);
    expect(answers.filter((each) => each === "Unavailable")).toHaveLength(90);
    expect(asked(world.fake)).toEqual({ list: 1, read: 10 });
  });
});
