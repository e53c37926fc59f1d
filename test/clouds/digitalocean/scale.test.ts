import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import type { Node } from "#core/node/node.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { VPC } from "#emulators/digitalocean/names.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import {
  buildIdentifiedNode,
  buildNamedNode,
  countRequests,
  createNodeWorld,
  type DigitalOceanWorld,
} from "#test/clouds/digitalocean/world.ts";
import { WAIT } from "#test/wait-until-true.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const addMany = (count: number, traits: Partial<FakeDroplet> = {}): FakeDroplet[] =>
  Array.from({ length: count }, () => world.fake.add(traits));
const idsOf = (droplets: readonly FakeDroplet[]): string[] => droplets.map(({ id }) => id);
const ask = async (cloud: Cloud, nodes: readonly Node[]): Promise<string[]> =>
  (await cloud.instances(nodes, buildCall())).answers.map(formatAnswer);
const batches = (nodes: readonly Node[]): Node[][] =>
  Array.from({ length: Math.ceil(nodes.length / 100) }, (_, batch) =>
    nodes.slice(batch * 100, (batch + 1) * 100),
  );

describe("1,000 nodes in ten batches cost the five pages of one list", () => {
  const ways = { "by provider ID": buildIdentifiedNode, "by name": buildNamedNode };

  test.each(Object.entries(ways))("%s, one after another", async (_, nodeOf) => {
    const droplets = addMany(1000);
    const cloud = world.cloud();
    const found: string[] = [];
    for (const batch of batches(droplets.map(nodeOf))) found.push(...(await ask(cloud, batch)));
    expect(found).toEqual(idsOf(droplets));
    expect(countRequests(world.fake)).toEqual({ list: 5 });
  });

  test.each(Object.entries(ways))("%s, all at once", async (_, nodeOf) => {
    const droplets = addMany(1000);
    const cloud = world.cloud();
    const results = await Promise.all(
      batches(droplets.map(nodeOf)).map((batch) => cloud.instances(batch, buildCall({ share: 0.1 }))),
    );
    expect(results.flatMap(({ answers }) => answers.map(formatAnswer))).toEqual(idsOf(droplets));
    expect(countRequests(world.fake)).toEqual({ list: 5 });
    // Each request is in one report, whichever batch waited for it.
    const counted = results.map(({ usage }) => usage.calls["droplets_list"] ?? 0);
    expect(counted.reduce((sum, each) => sum + each, 0)).toBe(5);
  });

  test("and one page more if some of them have GPUs", async () => {
    const droplets = [...addMany(900), ...addMany(100, { gpu: true })];
    const cloud = world.cloud();
    const found = await Promise.all(
      batches(droplets.map(buildIdentifiedNode)).map((batch) => ask(cloud, batch)),
    );
    expect(found.flat()).toEqual(idsOf(droplets));
    expect(countRequests(world.fake)).toEqual({ list: 5, gpus: 1 });
  });

  test("and each cold function takes no more", async () => {
    const droplets = addMany(1000);
    for (const batch of batches(droplets.map(buildIdentifiedNode)).slice(0, 3)) {
      world.fake.requests.length = 0;
      expect(await ask(world.cloud(), batch)).toEqual(batch.map(({ spec }) => spec.providerID?.slice(15)));
      expect(countRequests(world.fake)).toEqual({ list: 5 });
    }
  });

  test("and 20 nodes among many of others take the page that has their tag", async () => {
    addMany(600, { tags: ["theirs"] });
    const ours = addMany(20);
    expect(await ask(world.cloud({ vpc: undefined }), ours.map(buildIdentifiedNode))).toEqual(idsOf(ours));
    expect(countRequests(world.fake)).toEqual({ list: 1 });
    expect(world.fake.requests[0]?.query).toEqual({ page: "1", per_page: "200", tag_name: "k8s-workers" });
  });

  test("and 600 among them without a tag take only those of the VPC", async () => {
    addMany(300, { vpc_uuid: "11111111-2222-3333-4444-555555555555" });
    const ours = addMany(300);
    const config = { dropletTag: undefined };
    expect(await ask(world.cloud(config), ours.slice(0, 100).map(buildNamedNode))).toEqual(
      idsOf(ours.slice(0, 100)),
    );
    expect(countRequests(world.fake)).toEqual({ list: 3 });
    expect(world.fake.requests[0]?.query).toEqual({ page: "1", per_page: "200" });
  });
});

describe("a list", () => {
  test("is reused for ten seconds for its entries, and then read again", async () => {
    const [first, second, third] = addMany(3) as [FakeDroplet, FakeDroplet, FakeDroplet];
    const nodes = [first, second, third].map(buildIdentifiedNode);
    const cloud = world.cloud();
    await ask(cloud, nodes);
    world.pass(9_999);
    await ask(cloud, nodes);
    expect(countRequests(world.fake)).toEqual({ list: 1 });
    world.pass(1);
    await ask(cloud, nodes);
    expect(countRequests(world.fake)).toEqual({ list: 2 });
  });

  test("never proves that a droplet is gone: only a single read does", async () => {
    const droplets = addMany(3);
    const cloud = world.cloud();
    world.fake.before = ({ path }) => {
      // The lists of this world lack an existing droplet, as if it moved between pages.
      for (const droplet of droplets) droplet.hidden = path === "/v2/droplets";
    };
    expect(await ask(cloud, droplets.map(buildIdentifiedNode))).toEqual(idsOf(droplets));
    expect(countRequests(world.fake)).toEqual({ list: 1, gpus: 1, read: 3 });
  });

  test("that lacks a name is read again, which finds a droplet made since then", async () => {
    const [old] = addMany(1) as [FakeDroplet];
    const cloud = world.cloud();
    await ask(cloud, [buildNamedNode(old)]);
    world.pass(1_000);
    const [young] = addMany(1) as [FakeDroplet];
    expect(await ask(cloud, [buildNamedNode(old), buildNamedNode(young)])).toEqual([old.id, young.id]);
    expect(countRequests(world.fake)).toEqual({ list: 2 });
  });

  test("that began earlier is read once more for those who joined it, together", async () => {
    const [old] = addMany(1) as [FakeDroplet];
    const cloud = world.cloud();
    const { promise: joined, resolve: join } = Promise.withResolvers<void>();
    const late: Promise<string[]>[] = [];
    const young: FakeDroplet[] = [];
    world.fake.before = async () => {
      // The first request is on its way when droplets and their nodes appear; it misses them.
      if (young.length > 0) return;
      world.pass(10);
      young.push(...addMany(2, { hidden: true }));
      late.push(...young.map((droplet) => ask(cloud, [buildNamedNode(droplet)])));
      join();
    };
    const first = ask(cloud, [buildNamedNode(old)]);
    await joined;
    expect(await first).toEqual([old.id]);
    for (const droplet of young) droplet.hidden = false;
    expect((await Promise.all(late)).flat()).toEqual(idsOf(young));
    expect(countRequests(world.fake)).toEqual({ list: 2 });
  });

  test("from an earlier time does not show that a droplet is foreign", async () => {
    const [tardy, ...others] = addMany(4) as [FakeDroplet, ...FakeDroplet[]];
    const cloud = world.cloud({ dropletTag: undefined });
    tardy.vpc_uuid = null;
    expect(await ask(cloud, [tardy, ...others].map(buildIdentifiedNode))).toEqual([
      "Foreign",
      ...idsOf(others),
    ]);
    tardy.vpc_uuid = VPC;
    world.pass(1);
    expect(await ask(cloud, [buildIdentifiedNode(tardy)])).toEqual([tardy.id]);
    expect(countRequests(world.fake)).toEqual({ list: 1, read: 2 });
  });

  test("with a failed page shows what is on the others", async () => {
    const droplets = addMany(600);
    world.fake.fault = ({ query }) => (query["page"] === "3" ? { status: 500, body: "" } : undefined);
    const nodes = [...droplets.slice(0, 50), ...droplets.slice(550)].map(buildIdentifiedNode);
    const answers = await ask(world.cloud(), nodes);
    expect(answers.slice(0, 50)).toEqual(idsOf(droplets.slice(0, 50)));
    expect(new Set(answers.slice(50))).toEqual(new Set(["Unavailable"]));
    expect(countRequests(world.fake)).toEqual({ list: 5 });
  });

  test("with a failed page proves nothing about names: it may hold a second droplet of that name", async () => {
    const droplets = addMany(250);
    world.fake.fault = ({ query }) => (query["page"] === "2" ? { status: 500, body: "" } : undefined);
    expect(await ask(world.cloud(), [buildNamedNode(droplets[0] as FakeDroplet)])).toEqual(["Unavailable"]);
  });

  test("with a failed page proves nothing about names that a list of GPU droplets shows, either", async () => {
    const droplets = addMany(250);
    const [gpu] = addMany(1, { gpu: true }) as [FakeDroplet];
    const cloud = world.cloud();
    // Both lists are known.
    expect(await ask(cloud, [buildNode({ name: "unknown" })])).toEqual(["not-found"]);
    // A page of the newer list is missing, with another droplet of that name.
    Object.assign(droplets[249] as FakeDroplet, { name: gpu.name });
    world.pass(20);
    world.fake.fault = ({ query }) => (query["page"] === "2" ? { status: 500, body: "" } : undefined);
    const nodes = [buildNamedNode(gpu), buildNode({ name: "unknown" })];
    expect(await ask(cloud, nodes)).toEqual(["Unavailable", "Unavailable"]);
  });

  test("ends at fifty pages, and says how to shorten it", async () => {
    addMany(1);
    const endless = { droplets: [], links: { pages: { next: "https://elsewhere.example.com/" } } };
    world.fake.fault = ({ path }) =>
      path === "/v2/droplets" ? { status: 200, body: JSON.stringify(endless) } : undefined;
    const { answers } = await world.cloud().instances([buildNode({ name: "unknown" })], buildCall());
    expect(answers).toMatchObject([{ code: "Unavailable", message: expect.stringContaining("dropletTag") }]);
    expect(countRequests(world.fake)).toEqual({ list: 50 });
  });

  test("without waiting callers ends, and the next caller begins a new one", async () => {
    const [droplet] = addMany(1) as [FakeDroplet];
    const cloud = world.cloud();
    const abort = new AbortController();
    world.fake.fault = () => {
      abort.abort();
      return "hang";
    };
    const { answers } = await cloud.instances([buildNamedNode(droplet)], buildCall({ signal: abort.signal }));
    expect(answers.map(formatAnswer)).toEqual(["Aborted"]);
    await vi.waitFor(() => expect(world.fake.hanging).toBe(0), WAIT);
    world.fake.fault = undefined;
    expect(await ask(cloud, [buildNamedNode(droplet)])).toEqual([droplet.id]);
  });

  test("continues for the others when the caller who began it stops", async () => {
    const [droplet] = addMany(1) as [FakeDroplet];
    const cloud = world.cloud();
    const abort = new AbortController();
    const gate = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    world.fake.before = () => {
      arrived.resolve();
      return gate.promise;
    };
    const first = cloud.instances([buildNamedNode(droplet)], buildCall({ signal: abort.signal }));
    await arrived.promise;
    const second = cloud.instances([buildNamedNode(droplet)], buildCall());
    abort.abort();
    expect((await first).answers.map(formatAnswer)).toEqual(["Aborted"]);
    gate.resolve();
    expect((await second).answers.map(formatAnswer)).toEqual([droplet.id]);
    expect(countRequests(world.fake)).toEqual({ list: 1 });
  });
});

describe("single reads", () => {
  test("serve up to two IDs, and after as many as a list has pages a list is read", async () => {
    const droplets = addMany(5);
    const cloud = world.cloud();
    const nodes = droplets.map(buildIdentifiedNode);
    await ask(cloud, nodes.slice(0, 2));
    expect(countRequests(world.fake)).toEqual({ read: 2 });
    expect(await ask(cloud, nodes.slice(2, 3))).toEqual(idsOf(droplets.slice(2, 3)));
    expect(countRequests(world.fake)).toEqual({ read: 2, list: 1 });
    await ask(cloud, nodes);
    expect(countRequests(world.fake)).toEqual({ read: 2, list: 1 });
  });

  test("are bounded: of a hundred IDs of another account ten are read, and the others wait", async () => {
    const nodes = Array.from({ length: 100 }, (_, index) =>
      buildNode({ name: `n-${index}`, providerID: `digitalocean://${900_000 + index}` }),
    );
    const answers = await ask(world.cloud(), nodes);
    expect(answers.filter((each) => each === "not-found")).toHaveLength(10);
    expect(answers.filter((each) => each === "Unavailable")).toHaveLength(90);
    expect(countRequests(world.fake)).toEqual({ list: 1, gpus: 1, read: 10 });
  });
});
