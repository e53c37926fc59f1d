import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import type { Node } from "#core/node/node.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { VPC } from "#emulators/digitalocean/names.ts";
import { aCall, aNode } from "#test/clouds/builders.ts";
import { summary } from "#test/clouds/conformance.ts";
import { asked, aWorld, type DigitalOceanWorld, identified, named } from "#test/clouds/digitalocean/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await aWorld();
});
afterEach(() => world.close());

const addMany = (count: number, traits: Partial<FakeDroplet> = {}): FakeDroplet[] =>
  Array.from({ length: count }, () => world.fake.add(traits));
const idsOf = (droplets: readonly FakeDroplet[]): string[] => droplets.map(({ id }) => id);
const ask = async (cloud: Cloud, nodes: readonly Node[]): Promise<string[]> =>
  (await cloud.instances(nodes, aCall())).answers.map(summary);
const batches = (nodes: readonly Node[]): Node[][] =>
  Array.from({ length: Math.ceil(nodes.length / 100) }, (_, batch) =>
    nodes.slice(batch * 100, (batch + 1) * 100),
  );

describe("1,000 nodes in ten batches cost the five pages of one list", () => {
  const ways = { "by provider ID": identified, "by name": named };

  test.each(Object.entries(ways))("%s, one after another", async (_, nodeOf) => {
    const droplets = addMany(1000);
    const cloud = world.cloud();
    const found: string[] = [];
    for (const batch of batches(droplets.map(nodeOf))) found.push(...(await ask(cloud, batch)));
    expect(found).toEqual(idsOf(droplets));
    expect(asked(world.fake)).toEqual({ list: 5 });
  });

  test.each(Object.entries(ways))("%s, all at once", async (_, nodeOf) => {
    const droplets = addMany(1000);
    const cloud = world.cloud();
    const results = await Promise.all(
      batches(droplets.map(nodeOf)).map((batch) => cloud.instances(batch, aCall({ share: 0.1 }))),
    );
    expect(results.flatMap(({ answers }) => answers.map(summary))).toEqual(idsOf(droplets));
    expect(asked(world.fake)).toEqual({ list: 5 });
    // Each request stands in one report, whoever waited for it.
    const counted = results.map(({ usage }) => usage.calls["droplets_list"] ?? 0);
    expect(counted.reduce((sum, each) => sum + each, 0)).toBe(5);
  });

  test("and one page more where some of them have GPUs", async () => {
    const droplets = [...addMany(900), ...addMany(100, { gpu: true })];
    const cloud = world.cloud();
    const found = await Promise.all(batches(droplets.map(identified)).map((batch) => ask(cloud, batch)));
    expect(found.flat()).toEqual(idsOf(droplets));
    expect(asked(world.fake)).toEqual({ list: 5, gpus: 1 });
  });

  test("and each cold function no more", async () => {
    const droplets = addMany(1000);
    for (const batch of batches(droplets.map(identified)).slice(0, 3)) {
      world.fake.requests.length = 0;
      expect(await ask(world.cloud(), batch)).toEqual(batch.map(({ spec }) => spec.providerID?.slice(15)));
      expect(asked(world.fake)).toEqual({ list: 5 });
    }
  });

  test("and those of 20 nodes among many of others' the page that has their tag", async () => {
    addMany(600, { tags: ["theirs"] });
    const ours = addMany(20);
    expect(await ask(world.cloud({ vpc: undefined }), ours.map(identified))).toEqual(idsOf(ours));
    expect(asked(world.fake)).toEqual({ list: 1 });
    expect(world.fake.requests[0]?.query).toEqual({ page: "1", per_page: "200", tag_name: "k8s-workers" });
  });

  test("and 600 among them without a tag those of the VPC alone", async () => {
    addMany(300, { vpc_uuid: "11111111-2222-3333-4444-555555555555" });
    const ours = addMany(300);
    const config = { dropletTag: undefined };
    expect(await ask(world.cloud(config), ours.slice(0, 100).map(named))).toEqual(idsOf(ours.slice(0, 100)));
    expect(asked(world.fake)).toEqual({ list: 3 });
    expect(world.fake.requests[0]?.query).toEqual({ page: "1", per_page: "200" });
  });
});

describe("a list", () => {
  test("is believed for ten seconds of what it shows, and then made anew", async () => {
    const [first, second, third] = addMany(3) as [FakeDroplet, FakeDroplet, FakeDroplet];
    const nodes = [first, second, third].map(identified);
    const cloud = world.cloud();
    await ask(cloud, nodes);
    world.pass(9_999);
    await ask(cloud, nodes);
    expect(asked(world.fake)).toEqual({ list: 1 });
    world.pass(1);
    await ask(cloud, nodes);
    expect(asked(world.fake)).toEqual({ list: 2 });
  });

  test("never shows that a droplet is gone: only reading it does", async () => {
    const droplets = addMany(3);
    const cloud = world.cloud();
    world.fake.before = ({ path }) => {
      // The lists of this world lack a droplet that is there, as they do when it slips from page to page.
      for (const droplet of droplets) droplet.hidden = path === "/v2/droplets";
    };
    expect(await ask(cloud, droplets.map(identified))).toEqual(idsOf(droplets));
    expect(asked(world.fake)).toEqual({ list: 1, gpus: 1, read: 3 });
  });

  test("that lacks a name is made again, by which a droplet of since then is found", async () => {
    const [old] = addMany(1) as [FakeDroplet];
    const cloud = world.cloud();
    await ask(cloud, [named(old)]);
    world.pass(1_000);
    const [young] = addMany(1) as [FakeDroplet];
    expect(await ask(cloud, [named(old), named(young)])).toEqual([old.id, young.id]);
    expect(asked(world.fake)).toEqual({ list: 2 });
  });

  test("that had begun before is made once more for those who joined it, together", async () => {
    const [old] = addMany(1) as [FakeDroplet];
    const cloud = world.cloud();
    const { promise: joined, resolve: join } = Promise.withResolvers<void>();
    const late: Promise<string[]>[] = [];
    const young: FakeDroplet[] = [];
    world.fake.before = async () => {
      // The first request is on its way when droplets and their nodes come; what it is to show it has seen already.
      if (young.length > 0) return;
      world.pass(10);
      young.push(...addMany(2, { hidden: true }));
      late.push(...young.map((droplet) => ask(cloud, [named(droplet)])));
      join();
    };
    const first = ask(cloud, [named(old)]);
    await joined;
    expect(await first).toEqual([old.id]);
    for (const droplet of young) droplet.hidden = false;
    expect((await Promise.all(late)).flat()).toEqual(idsOf(young));
    expect(asked(world.fake)).toEqual({ list: 2 });
  });

  test("from before does not tell that a droplet is somebody else's", async () => {
    const [tardy, ...others] = addMany(4) as [FakeDroplet, ...FakeDroplet[]];
    const cloud = world.cloud({ dropletTag: undefined });
    tardy.vpc_uuid = null;
    expect(await ask(cloud, [tardy, ...others].map(identified))).toEqual(["Foreign", ...idsOf(others)]);
    tardy.vpc_uuid = VPC;
    world.pass(1);
    expect(await ask(cloud, [identified(tardy)])).toEqual([tardy.id]);
    expect(asked(world.fake)).toEqual({ list: 1, read: 2 });
  });

  test("of which a page fails shows what is on the others", async () => {
    const droplets = addMany(600);
    world.fake.fault = ({ query }) => (query["page"] === "3" ? { status: 500, body: "" } : undefined);
    const nodes = [...droplets.slice(0, 50), ...droplets.slice(550)].map(identified);
    const answers = await ask(world.cloud(), nodes);
    expect(answers.slice(0, 50)).toEqual(idsOf(droplets.slice(0, 50)));
    expect(new Set(answers.slice(50))).toEqual(new Set(["Unavailable"]));
    expect(asked(world.fake)).toEqual({ list: 5 });
  });

  test("of which a page fails tells nothing of names: a second of that name may be on it", async () => {
    const droplets = addMany(250);
    world.fake.fault = ({ query }) => (query["page"] === "2" ? { status: 500, body: "" } : undefined);
    expect(await ask(world.cloud(), [named(droplets[0] as FakeDroplet)])).toEqual(["Unavailable"]);
  });

  test("of which a page fails tells nothing of names that a list of GPU droplets shows, either", async () => {
    const droplets = addMany(250);
    const [gpu] = addMany(1, { gpu: true }) as [FakeDroplet];
    const cloud = world.cloud();
    // Both lists are known, …
    expect(await ask(cloud, [aNode({ name: "nobody" })])).toEqual(["not-found"]);
    // … and of the one that is newer a page is missing, on which there is another droplet of that name.
    Object.assign(droplets[249] as FakeDroplet, { name: gpu.name });
    world.pass(20);
    world.fake.fault = ({ query }) => (query["page"] === "2" ? { status: 500, body: "" } : undefined);
    const nodes = [named(gpu), aNode({ name: "nobody" })];
    expect(await ask(cloud, nodes)).toEqual(["Unavailable", "Unavailable"]);
  });

  test("ends at fifty pages, and says what makes it shorter", async () => {
    addMany(1);
    const endless = { droplets: [], links: { pages: { next: "https://elsewhere.example.com/" } } };
    world.fake.fault = ({ path }) =>
      path === "/v2/droplets" ? { status: 200, body: JSON.stringify(endless) } : undefined;
    const { answers } = await world.cloud().instances([aNode({ name: "nobody" })], aCall());
    expect(answers).toMatchObject([{ code: "Unavailable", message: expect.stringContaining("dropletTag") }]);
    expect(asked(world.fake)).toEqual({ list: 50 });
  });

  test("that nobody waits for any more ends, and the next one begins anew", async () => {
    const [droplet] = addMany(1) as [FakeDroplet];
    const cloud = world.cloud();
    const abort = new AbortController();
    world.fake.fault = () => {
      abort.abort();
      return "hang";
    };
    const { answers } = await cloud.instances([named(droplet)], aCall({ signal: abort.signal }));
    expect(answers.map(summary)).toEqual(["Aborted"]);
    await vi.waitFor(() => expect(world.fake.hanging).toBe(0));
    world.fake.fault = undefined;
    expect(await ask(cloud, [named(droplet)])).toEqual([droplet.id]);
  });

  test("goes on for the others when the one who began it stops", async () => {
    const [droplet] = addMany(1) as [FakeDroplet];
    const cloud = world.cloud();
    const abort = new AbortController();
    const gate = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    world.fake.before = () => {
      arrived.resolve();
      return gate.promise;
    };
    const first = cloud.instances([named(droplet)], aCall({ signal: abort.signal }));
    await arrived.promise;
    const second = cloud.instances([named(droplet)], aCall());
    abort.abort();
    expect((await first).answers.map(summary)).toEqual(["Aborted"]);
    gate.resolve();
    expect((await second).answers.map(summary)).toEqual([droplet.id]);
    expect(asked(world.fake)).toEqual({ list: 1 });
  });
});

describe("reading singly", () => {
  test("is for up to two, and once there were as many as a list has pages it is time for a list", async () => {
    const droplets = addMany(5);
    const cloud = world.cloud();
    const nodes = droplets.map(identified);
    await ask(cloud, nodes.slice(0, 2));
    expect(asked(world.fake)).toEqual({ read: 2 });
    expect(await ask(cloud, nodes.slice(2, 3))).toEqual(idsOf(droplets.slice(2, 3)));
    expect(asked(world.fake)).toEqual({ read: 2, list: 1 });
    await ask(cloud, nodes);
    expect(asked(world.fake)).toEqual({ read: 2, list: 1 });
  });

  test("is bounded: of a hundred ids of another account ten are read, and the others wait", async () => {
    const nodes = Array.from({ length: 100 }, (_, index) =>
      aNode({ name: `n-${index}`, providerID: `digitalocean://${900_000 + index}` }),
    );
    const answers = await ask(world.cloud(), nodes);
    expect(answers.filter((each) => each === "not-found")).toHaveLength(10);
    expect(answers.filter((each) => each === "Unavailable")).toHaveLength(90);
    expect(asked(world.fake)).toEqual({ list: 1, gpus: 1, read: 10 });
  });
});
