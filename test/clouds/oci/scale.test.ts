import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import type { Node } from "#core/node/node.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import type { FakeInstance, FakeMachine } from "#test/clouds/oci/fake/instances.ts";
import {
  buildIdentifiedNode,
  buildNamedNode,
  countRequests,
  createNodeWorld,
  type OciWorld,
} from "#test/clouds/oci/world.ts";
import { WAIT } from "#test/wait-until-true.ts";

let world: OciWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const PUBLIC: FakeMachine = { vnic: { publicIp: "203.0.113.1" } };
const addMany = (count: number, traits: FakeMachine = {}): FakeInstance[] =>
  Array.from({ length: count }, () => world.fake.compute.add(traits));
const idsOf = (instances: readonly FakeInstance[]): string[] => instances.map(({ id }) => id);
const ask = async (cloud: Cloud, nodes: readonly Node[]): Promise<string[]> =>
  (await cloud.instances(nodes, buildCall())).answers.map(formatAnswer);
const batches = (nodes: readonly Node[]): Node[][] =>
  Array.from({ length: Math.ceil(nodes.length / 100) }, (_, batch) =>
    nodes.slice(batch * 100, (batch + 1) * 100),
  );

describe("1,000 nodes in ten batches cost the pages of their lists", () => {
  // 1,000 addresses of nodes and as many of pods: four pages.
  const LISTS = { instances: 2, vnicAttachments: 2, "subnets/id": 1, privateIps: 4, publicIps: 3 };
  const ways = { "by provider ID": buildIdentifiedNode, "by name": buildNamedNode };

  test.each(Object.entries(ways))("%s, one after another", async (_, nodeOf) => {
    const instances = addMany(1000, PUBLIC);
    const cloud = world.cloud();
    const found: string[] = [];
    for (const batch of batches(instances.map((each) => nodeOf(each))))
      found.push(...(await ask(cloud, batch)));
    expect(found).toEqual(idsOf(instances));
    expect(countRequests(world.fake)).toEqual(LISTS);
  });

  test.each(Object.entries(ways))("%s, all at once", async (_, nodeOf) => {
    const instances = addMany(1000, PUBLIC);
    const cloud = world.cloud();
    const results = await Promise.all(
      batches(instances.map((each) => nodeOf(each))).map((batch) =>
        cloud.instances(batch, buildCall({ share: 0.1 })),
      ),
    );
    expect(results.flatMap(({ answers }) => answers.map(formatAnswer))).toEqual(idsOf(instances));
    const requests = countRequests(world.fake);
    expect({ ...requests, "subnets/id": 1 }).toEqual(LISTS);
    // Each request is in one report, whichever batch waited for it.
    const counted = results
      .flatMap(({ usage }) => Object.values(usage.calls))
      .reduce((sum, each) => sum + each, 0);
    expect(counted).toBe(world.fake.requests.length);
  });

  test("and with IPv6 that of its addresses", async () => {
    const instances = addMany(100, { vnic: { ipv6Addresses: ["fd00::1"] } });
    const traits = { labels: { "oci.oraclecloud.com/ip-family-ipv6": "true" } };
    await ask(
      world.cloud(),
      instances.map((each) => buildIdentifiedNode(each, traits)),
    );
    expect(countRequests(world.fake)).toMatchObject({ ipv6: 1, privateIps: 1 });
  });

  test("with several VNICs each, once the primary one is known", async () => {
    const instances = addMany(100, PUBLIC);
    for (const instance of instances) world.fake.compute.attach(instance);
    const nodes = instances.map((each) => buildIdentifiedNode(each));
    const cloud = world.cloud({ rateLimiter: { disableRateLimiter: true } });
    await ask(cloud, nodes);
    expect(countRequests(world.fake)["vnics/id"]).toBe(100);
    world.pass(10_001);
    expect(await ask(cloud, nodes)).toEqual(idsOf(instances));
    expect(countRequests(world.fake)).toMatchObject({ "vnics/id": 100, privateIps: 1, vnicAttachments: 2 });
  });

  test("within the rate: five at once, then ten a second", async () => {
    const instances = addMany(1000, PUBLIC);
    await ask(
      world.cloud(),
      instances.slice(0, 100).map((each) => buildIdentifiedNode(each)),
    );
    expect(world.slept).toEqual(Array.from({ length: 7 }, () => 100));
  });
});

describe("few nodes", () => {
  test("up to two are read singly, with their parts", async () => {
    const instances = addMany(2);
    await ask(
      world.cloud(),
      instances.map((each) => buildIdentifiedNode(each)),
    );
    expect(countRequests(world.fake)).toEqual({
      "instances/id": 2,
      "vnicAttachments of one": 2,
      "vnics/id": 2,
      "subnets/id": 1,
    });
  });

  test("up to ten are listed, and their VNICs read", async () => {
    const instances = addMany(10);
    await ask(
      world.cloud(),
      instances.map((each) => buildIdentifiedNode(each)),
    );
    expect(countRequests(world.fake)).toEqual({
      instances: 1,
      vnicAttachments: 1,
      "vnics/id": 10,
      "subnets/id": 1,
    });
  });
});

describe("pages", () => {
  test.each([
    ["short", 7, false],
    ["empty in between", 500, true],
    ["short, and empty in between", 7, true],
  ])("that are %s are not the last ones", async (_, pageLimit, emptyPages) => {
    Object.assign(world.fake, { pageLimit, emptyPages });
    const instances = addMany(30, PUBLIC);
    expect(
      await ask(
        world.cloud(),
        instances.map((each) => buildIdentifiedNode(each)),
      ),
    ).toEqual(idsOf(instances));
  });

  test("that name themselves as the next page are an error, and so are endless pages", async () => {
    const instances = addMany(3);
    const nodes = instances.map((each) => buildIdentifiedNode(each));
    for (const next of [() => "again", () => String(world.fake.requests.length)]) {
      world.fake.fault = () => ({ status: 200, body: [], headers: { "opc-next-page": next() } });
      expect(new Set(await ask(world.cloud(), nodes))).toEqual(new Set(["Unavailable"]));
    }
    expect(world.fake.requests.length).toBe(2 + 60);
  });
});

describe("a list", () => {
  test("is reused for ten seconds for its entries, and then read again", async () => {
    const nodes = addMany(3).map((each) => buildIdentifiedNode(each));
    const cloud = world.cloud({ rateLimiter: { disableRateLimiter: true } });
    await ask(cloud, nodes);
    world.pass(10_000);
    await ask(cloud, nodes);
    expect(countRequests(world.fake)["instances"]).toBe(1);
    world.pass(1);
    await ask(cloud, nodes);
    expect(countRequests(world.fake)["instances"]).toBe(2);
  });

  test("never proves alone that an instance is gone", async () => {
    const instances = addMany(4);
    const [last] = instances.slice(-1) as [FakeInstance];
    world.fake.before = ({ path }) => {
      last.hidden = path === "/20160918/instances";
    };
    expect(
      await ask(
        world.cloud(),
        instances.map((each) => buildIdentifiedNode(each)),
      ),
    ).toEqual(idsOf(instances));
    expect(countRequests(world.fake)["instances/id"]).toBe(1);
  });

  test("from an earlier time without the VNIC of a young instance is read again", async () => {
    const instances = addMany(3);
    const cloud = world.cloud();
    await ask(
      cloud,
      instances.map((each) => buildIdentifiedNode(each)),
    );
    world.pass(1_000);
    const [young] = addMany(1) as [FakeInstance];
    expect(await ask(cloud, [buildIdentifiedNode(young)])).toEqual([young.id]);
    expect(countRequests(world.fake)).toMatchObject({ vnicAttachments: 2, instances: 1 });
  });

  test("continues for the others when the caller who began it stops", async () => {
    const instances = addMany(3);
    const nodes = instances.map((each) => buildIdentifiedNode(each));
    const cloud = world.cloud();
    const abort = new AbortController();
    const gate = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    world.fake.before = () => {
      arrived.resolve();
      return gate.promise;
    };
    const first = cloud.instances(nodes, buildCall({ signal: abort.signal }));
    await arrived.promise;
    const second = cloud.instances(nodes, buildCall());
    abort.abort();
    expect(new Set((await first).answers.map(formatAnswer))).toEqual(new Set(["Aborted"]));
    gate.resolve();
    expect((await second).answers.map(formatAnswer)).toEqual(idsOf(instances));
    expect(countRequests(world.fake)["instances"]).toBe(1);
  });

  test("without waiting callers ends", async () => {
    const nodes = addMany(3).map((each) => buildIdentifiedNode(each));
    const abort = new AbortController();
    world.fake.fault = () => {
      abort.abort();
      return "hang";
    };
    const { answers } = await world.cloud().instances(nodes, buildCall({ signal: abort.signal }));
    expect(new Set(answers.map(formatAnswer))).toEqual(new Set(["Aborted"]));
    await vi.waitFor(() => expect(world.fake.hanging).toBe(0), WAIT);
  });
});

test("of a hundred IDs of another account ten are read, and the others wait", async () => {
  addMany(1);
  const nodes = Array.from({ length: 100 }, (_, index) =>
    buildNode({ name: `n-${index}`, providerID: `oci://ocid1.instance.oc1.phx.other${index}` }),
  );
  const answers = await ask(world.cloud(), nodes);
  expect(answers.filter((each) => each === "not-found")).toHaveLength(10);
  expect(answers.filter((each) => each === "Unavailable")).toHaveLength(90);
  expect(countRequests(world.fake)).toEqual({ instances: 1, "instances/id": 10 });
});
