import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import { createFixedToken } from "#clouds/http/authorizer.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import type { FakeLoadBalancer } from "#emulators/digitalocean/load-balancers.ts";
import { REGION, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { type FakeDigitalOcean, startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { ID } from "#test/clouds/digitalocean/load-balancers/round.ts";
import { type OrphansUnderTest, startOrphans } from "#test/functions/orphans/orphans-under-test.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

const DISOWN = "service.kubernetes.io/do-loadbalancer-disown";
const NAME = "service.beta.kubernetes.io/do-loadbalancer-name";
const DELETING = { loadBalancers: { deleteOrphaned: true } };

let cluster: ClusterUnderTest;
let under: OrphansUnderTest;
let fake: FakeDigitalOcean;

beforeAll(async () => {
  cluster = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
  under = await startOrphans(cluster, () => {
    const config = { provider: "digitalocean", apiURL: fake.url, region: REGION, vpc: VPC, clusterID: "c1" };
    let now = 0;
    const world = {
      now: () => now,
      sleep: async (delayMs: number) => {
        now += delayMs;
      },
    };
    const make = () =>
      createDigitalOceanCloud(
        DigitalOceanCloudConfig.parse(config),
        createFixedToken(TOKEN, "the token"),
        world,
      );
    return { config, make };
  });
});
afterAll(() => cluster?.close());
beforeEach(async () => {
  fake = await startFakeDigitalOcean();
  fake.newFor = 0;
  const { id } = fake.add({ name: "node-a" });
  await cluster.join({ name: "node-a", providerID: `digitalocean://${id}` });
  return async () => {
    await under.reset();
    await cluster.remove("node-a");
    await fake.close();
  };
});

const all = (): FakeLoadBalancer[] => [...fake.loadBalancers.values()];
const services = () => all().map(({ tags }) => tags.find((tag) => tag.startsWith("k8s-service-name:")));
const marks = () => [...fake.tags].filter((tag) => tag.startsWith("k8s-orphaned:"));
const told = ({ lines }: Awaited<ReturnType<OrphansUnderTest["audit"]>>) =>
  lines
    .filter(({ event }) => event === "OrphanedLoadBalancer")
    .map(({ kind, name, code }) => [kind, name, code]);

const LIVES = "k8s-service-name:default:lives";
const LOST = "k8s-service-name:default:lost";

/** Creates a live Service and a lost one. */
async function orphaned(differs: { readonly metadata?: object } = {}): Promise<FakeLoadBalancer> {
  await under.create("lives");
  await under.create("lost", differs);
  await under.lose("lost");
  under.actions.length = 0;
  const [, lost] = all();
  if (lost === undefined) throw new Error("there is no second load balancer");
  return lost;
}

/** Runs as many audits as a resource takes to be found, marked and deleted, and one more. */
async function hour(): Promise<void> {
  for (let minute = 0; minute < 60; minute += 20) {
    await under.audit();
    under.later(20);
  }
}

describe("a load balancer whose Service is gone", () => {
  test("is reported, and stays unless the operator wants it deleted", async () => {
    await orphaned();
    for (const minutes of [0, 20, 20]) {
      under.later(minutes);
      const audit = await under.audit();
      expect(audit.report).toMatchObject({ outcome: "unchanged", orphans: { count: 1 } });
      expect(told(audit)).toEqual([["load balancer", "lost", "ServiceGone"]]);
    }
    expect(services()).toEqual([LIVES, LOST]);
    expect(under.actions).toEqual([]);
  });

  test.each([
    ["of the Service's own name", {}],
    ["of a name that was chosen", { metadata: { annotations: { [NAME]: "shop" } } }],
  ])("%s is marked, and deleted in its turn; its mark goes too", async (_, differs) => {
    const { id } = await orphaned(differs);
    under.configure(DELETING);
    await under.audit();
    expect(under.actions).toEqual([`TagLoadBalancer ${id}`]);
    expect(marks()).toEqual([expect.stringContaining(id)]);
    under.later(10);
    await under.audit();
    expect(services()).toEqual([LIVES, LOST]);
    under.later(10);
    await under.audit();
    expect(services()).toEqual([LIVES]);
    expect(marks()).toEqual([]);
    under.actions.length = 0;
    await hour();
    expect(under.actions).toEqual([]);
  });

  test("is deleted one at a time, with any number of actors", async () => {
    await under.create("lives");
    for (const name of ["one", "two"]) {
      await under.create(name);
      await under.lose(name);
    }
    under.configure(DELETING);
    const left: number[] = [];
    for (let minute = 0; minute <= 40; minute += 10) {
      await under.audit();
      await under.audit();
      left.push(all().length);
      under.later(10);
    }
    expect(left).toEqual([3, 3, 2, 1, 1]);
  });

  test("leaves nothing behind if its deletion is killed between any two steps", async () => {
    under.configure(DELETING);
    await under.create("lives");
    for (let steps = 0; ; steps += 1) {
      await under.create("lost");
      await under.lose("lost");
      await under.audit();
      under.later(20);
      under.actions.length = 0;
      const { report } = await under.audit({ steps });
      const isWhole = report !== undefined && report.outcome !== "retry" && under.actions.length > 0;
      await hour();
      expect([steps, services(), marks()]).toEqual([steps, [LIVES], []]);
      if (isWhole) break;
      expect(steps).toBeLessThan(30);
    }
  });

  test("stays while not all Services are known, and without the load balancer of a live Service", async () => {
    await orphaned();
    under.configure(DELETING);
    await under.audit();
    under.later(20);
    const unseen = await under.audit({ unseen: ["lives"] });
    expect(unseen.report).toMatchObject({ outcome: "retry", because: { code: "ServicesIncomplete" } });
    expect(services()).toEqual([LIVES, LOST]);
    await under.lose("lives");
    await hour();
    expect((await under.audit()).report).toMatchObject({ because: { code: "DeletionUnproven" } });
    expect(services()).toEqual([LIVES, LOST]);
  });

  test("is not even marked with a token that may not remove the mark", async () => {
    await orphaned();
    under.configure(DELETING);
    fake.scopes.delete("tag:delete");
    const { report } = await under.audit();
    expect(report).toMatchObject({ outcome: "skipped", because: { code: "Denied" } });
    expect(marks()).toEqual([]);
    await hour();
    expect(services()).toEqual([LIVES, LOST]);
    fake.scopes.add("tag:delete");
    await hour();
    expect(services()).toEqual([LIVES]);
  });

  test("stays, and its mark with it, while deletions are stopped", async () => {
    await orphaned();
    under.configure(DELETING);
    await under.audit();
    const before = marks();
    under.later(20);
    under.actions.length = 0;
    await under.audit({ readStop: async () => "deletes" });
    expect([services(), marks(), under.actions]).toEqual([[LIVES, LOST], before, []]);
    await under.audit();
    expect(services()).toEqual([LIVES]);
  });

  test("that has missed its turn is marked again, and carries one mark", async () => {
    const { id } = await orphaned();
    under.configure(DELETING);
    await under.audit();
    const [first] = marks();
    under.later(40);
    await under.audit();
    expect(marks()).toEqual([expect.stringContaining(id)]);
    expect(marks()).not.toEqual([first]);
    await hour();
    expect(services()).toEqual([LIVES]);
    expect(marks()).toEqual([]);
  });
});

describe("a load balancer that is not an orphan", () => {
  test.each<[string, (balancer: FakeLoadBalancer) => void]>([
    ["one with another cluster's tag, too", ({ tags }) => tags.push("k8s:c2")],
    ["one in another region", (balancer) => Object.assign(balancer, { region: "nyc1" })],
    [
      "one without a Service",
      (balancer) => Object.assign(balancer, { tags: balancer.tags.filter((tag) => tag !== LOST) }),
    ],
    ["one with two Services", ({ tags }) => tags.push("k8s-service-name:default:other")],
  ])("%s is neither reported nor deleted", async (_, change) => {
    change(await orphaned());
    under.configure(DELETING);
    expect(told(await under.audit())).toEqual([]);
    await hour();
    expect(all()).toHaveLength(2);
  });

  test("loses an existing mark, even while deletions are stopped", async () => {
    await under.create("lives");
    const [lives] = all();
    const mark = `k8s-orphaned:${lives?.id}:1:2`;
    lives?.tags.push(mark);
    fake.tags.add(mark);
    under.configure(DELETING);
    await under.audit({ readStop: async () => "deletes" });
    expect([marks(), lives?.tags.includes(mark)]).toEqual([[], false]);
  });

  test("is kept for another Service that has taken it over by its ID", async () => {
    const { id } = await orphaned();
    under.configure(DELETING);
    await under.audit();
    expect(marks()).toHaveLength(1);
    await under.create("heir", { metadata: { annotations: { [ID]: id } } });
    // The controller of the Service removes the mark, and an audit would.
    expect(marks()).toEqual([]);
    expect(told(await under.audit())).toEqual([]);
    await hour();
    expect(fake.loadBalancers.has(id)).toBe(true);
    expect((await under.read("heir")).status.loadBalancer.ingress).toHaveLength(1);
  });

  test("is kept for a Service that names it and cannot be served yet, and the audit removes its mark", async () => {
    const { id } = await orphaned();
    under.configure(DELETING);
    await under.audit();
    await under.create("heir", { metadata: { annotations: { [ID]: id, [DISOWN]: "true" } } });
    await hour();
    expect(fake.loadBalancers.has(id)).toBe(true);
    expect(marks()).toEqual([]);
  });

  test("stays if it was disowned before its Service went", async () => {
    await under.create("lives");
    const { metadata } = await under.create("given");
    const [, given] = all();
    const path = `/api/v1/namespaces/default/services/given`;
    const admin = await cluster.transport("admin");
    const annotations = { [DISOWN]: "true" };
    await admin.send({
      method: "PATCH",
      path,
      body: { metadata: { annotations } },
      contentType: "application/merge-patch+json",
    });
    await admin.send({ method: "DELETE", path });
    await under.converge("given");
    expect(given?.tags).toEqual(["k8s:c1"]);
    under.configure(DELETING);
    expect(told(await under.audit())).toEqual([]);
    await hour();
    expect(all()).toHaveLength(2);
    expect(metadata.name).toBe("given");
  });

  test("is released without the right to remove tags if it was disowned", async () => {
    fake.scopes.delete("tag:delete");
    await under.create("given", { metadata: { annotations: {} } });
    const admin = await cluster.transport("admin");
    const path = `/api/v1/namespaces/default/services/given`;
    const body = { metadata: { annotations: { [DISOWN]: "true" } } };
    await admin.send({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
    await admin.send({ method: "DELETE", path });
    await under.converge("given");
    expect((await admin.send({ method: "GET", path })).status).toBe(404);
    expect(all()).toHaveLength(1);
  });
});
