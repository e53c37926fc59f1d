import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { errorAnswer } from "#emulators/digitalocean/answer.ts";
import {
  aService,
  bringAbout,
  DEFAULT_NAME,
  ID,
  nodesOf,
  PREFIX,
  settingsWith,
} from "#test/clouds/digitalocean/load-balancers/round.ts";
import { aWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await aWorld();
});
afterEach(() => world.close());

const changes = () =>
  world.fake.requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);
const balancers = () => [...world.fake.loadBalancers.values()];

describe("the life of a Service", () => {
  test("is made, published, changed, sent to other nodes, and goes", async () => {
    const [cloud, settings] = [world.cloud({ clusterID: "c1" }), settingsWith({ clusterID: "c1" })];
    const droplets = [world.fake.add(), world.fake.add({ id: "9223372036854775807" })];
    const made = await bringAbout(cloud, settings, aService(), { nodes: nodesOf(droplets) });
    expect(made.done).toEqual([
      "CreateLoadBalancer",
      `write: ${ID}, type`,
      "wait: Provisioning",
      "wait: Provisioning",
    ]);
    expect(made.last).toEqual({ kind: "settled", ingress: [{ ip: "198.51.100.1" }], warnings: [] });
    expect(balancers()).toMatchObject([
      {
        name: DEFAULT_NAME,
        type: "REGIONAL_NETWORK",
        network: "EXTERNAL",
        network_stack: "IPV4",
        tags: ["k8s:c1", "k8s-service-name:default:web"],
        droplet_ids: droplets.map(({ id }) => id),
        forwarding_rules: [
          { entry_protocol: "tcp", entry_port: 80, target_protocol: "tcp", target_port: 80 },
          { entry_protocol: "tcp", entry_port: 443, target_protocol: "tcp", target_port: 443 },
        ],
        health_check: { protocol: "http", port: 10_256, path: "/healthz", check_interval_seconds: 3 },
      },
    ]);
    expect(made.service.metadata.annotations).toMatchObject({
      [ID]: balancers()[0]?.id,
      [`${PREFIX}type`]: "REGIONAL_NETWORK",
    });
    const sent = changes().length;

    const again = await bringAbout(cloud, settings, made.service, { nodes: nodesOf(droplets) });
    expect(again.done).toEqual([]);

    const changed = aService({
      annotations: { ...made.service.metadata.annotations, "deny-rules": "cidr:192.0.2.9/24" },
    });
    world.pass(20_000);
    const more = [...droplets, world.fake.add()];
    const after = await bringAbout(cloud, settings, changed, { nodes: nodesOf(more) });
    expect(after.done).toEqual(["ReplaceLoadBalancer"]);
    expect(balancers()).toMatchObject([
      {
        droplet_ids: more.map(({ id }) => id).sort((a, b) => a.length - b.length || (a < b ? -1 : 1)),
        firewall: { deny: ["cidr:192.0.2.0/24"] },
      },
    ]);

    const gone = await bringAbout(cloud, settings, changed, { wanted: false });
    expect(gone.done).toEqual(["DeleteLoadBalancer"]);
    expect(gone.last).toEqual({ kind: "settled", ingress: [], warnings: [] });
    expect(balancers()).toEqual([]);
    expect(
      changes()
        .slice(sent)
        .map((each) => each.split(" ")[0]),
    ).toEqual(["PUT", "DELETE"]);
    const nothing = await bringAbout(cloud, settings, changed, { wanted: false });
    expect(nothing.done).toEqual([]);
  });

  test("what somebody has set in the console goes along with a change", async () => {
    const [cloud, settings] = [world.cloud(), settingsWith()];
    const droplets = [world.fake.add()];
    const made = await bringAbout(cloud, settings, aService(), { nodes: nodesOf(droplets) });
    const [balancer] = balancers();
    Object.assign(balancer ?? {}, { project_id: "their-project", tls_cipher_policy: "STRONG" });
    droplets.push(world.fake.add());
    world.pass(20_000);
    await bringAbout(cloud, settings, made.service, { nodes: nodesOf(droplets) });
    expect(balancers()).toMatchObject([
      { project_id: "their-project", tls_cipher_policy: "STRONG", droplet_ids: droplets.map(({ id }) => id) },
    ]);
  });

  test("dual-stack where all nodes are, and both addresses are published", async () => {
    const v6 = [{ ip_address: "2604:a880:800:10::1", netmask: 64, gateway: "::", type: "public" }];
    const droplet = world.fake.add();
    droplet.networks = { v4: droplet.networks?.v4 ?? [], v6 };
    const made = await bringAbout(world.cloud(), settingsWith(), aService(), { nodes: nodesOf([droplet]) });
    expect(made.last).toMatchObject({ ingress: [{ ip: "198.51.100.1" }, { ip: "2604:a880:800:14::1" }] });
    expect(balancers()).toMatchObject([{ network_stack: "DUALSTACK" }]);
  });

  test("a host name is published in place of addresses", async () => {
    const service = aService({ annotations: { hostname: "Web.Example.com" } });
    const made = await bringAbout(world.cloud(), settingsWith(), service, {
      nodes: nodesOf([world.fake.add()]),
    });
    expect(made.last).toMatchObject({ kind: "settled", ingress: [{ hostname: "web.example.com" }] });
  });

  test("what the cloud says has failed is told", async () => {
    const [cloud, settings, nodes] = [world.cloud(), settingsWith(), nodesOf([world.fake.add()])];
    const made = await bringAbout(cloud, settings, aService(), { nodes });
    Object.assign(balancers()[0] ?? {}, { status: "errored" });
    const after = await bringAbout(cloud, settings, made.service, { nodes });
    expect(after.last).toMatchObject({ kind: "refused", problem: { code: "LoadBalancerFailed" } });
  });
});

describe("no second one is made", () => {
  const lost = ["destroy", { status: 500, body: "{}" }, { status: 202, body: "rubbish" }] as const;
  for (const answer of lost) {
    test(`where the answer to the first was ${JSON.stringify(answer)}`, async () => {
      let count = 0;
      world.fake.lost = ({ method }) => {
        count += method === "POST" ? 1 : 0;
        return method === "POST" && count === 1 ? answer : undefined;
      };
      const made = await bringAbout(world.cloud(), settingsWith(), aService(), {
        nodes: nodesOf([world.fake.add()]),
        errors: 1,
      });
      expect(made.last).toMatchObject({ kind: "settled" });
      expect(balancers()).toHaveLength(1);
      expect(changes()).toEqual(["POST /v2/load_balancers"]);
    });
  }

  test("where the annotation names one that is gone, and the next one's answer was lost", async () => {
    const service = aService({ annotations: { [ID]: "4de7ac8b-495b-4884-9a69-1050c6793cd6" } });
    const ours = world.fake.addLoadBalancer({ name: DEFAULT_NAME });
    const made = await bringAbout(world.cloud(), settingsWith(), service, {
      nodes: nodesOf([world.fake.add()]),
    });
    expect(made.service.metadata.annotations?.[ID]).toBe(ours.id);
    expect(balancers()).toHaveLength(1);
  });
});

describe("a load balancer that is disowned", () => {
  const CLUSTER = { clusterID: "c1" };
  const disowned = { "service.kubernetes.io/do-loadbalancer-disown": "true" };

  test("is left alone without a request, and the Service is let go", async () => {
    const ours = world.fake.addLoadBalancer({ name: DEFAULT_NAME });
    const service = aService({ annotations: { ...disowned, [ID]: ours.id } });
    const [cloud, settings] = [world.cloud(), settingsWith()];
    const kept = await bringAbout(cloud, settings, service, { nodes: nodesOf([world.fake.add()]) });
    expect(kept.last).toEqual({ kind: "elsewhere" });
    const left = await bringAbout(cloud, settings, service, { wanted: false });
    expect(left.last).toEqual({ kind: "settled", ingress: [], warnings: [] });
    expect(balancers()).toHaveLength(1);
    expect(world.fake.requests).toEqual([]);
  });

  test.each([
    ["the cluster's own says no more whose it was", ["k8s:c1"], ["k8s:c1"]],
    ["another cluster's is left as it is", ["k8s:c2"], ["k8s:c2", "k8s-service-name:default:web"]],
    ["nobody's is left as it is", [], ["k8s-service-name:default:web"]],
  ])("and goes with its Service, named by its id: %s", async (_, tags, left) => {
    const there = world.fake.addLoadBalancer({ tags: [...tags, "k8s-service-name:default:web"] });
    world.fake.tags.add("k8s-service-name:default:web");
    const config = { clusterID: "c1" };
    const service = aService({ annotations: { ...disowned, [ID]: there.id } });
    const { last } = await bringAbout(world.cloud(config), settingsWith(config), service, { wanted: false });
    expect(last).toEqual({ kind: "settled", ingress: [], warnings: [] });
    expect(balancers()).toMatchObject([{ id: there.id, tags: left }]);
  });

  test.each([500, 429, 401])("lets its Service go while the tag API answers %i", async (status) => {
    const there = world.fake.addLoadBalancer({ tags: ["k8s:c1", "k8s-service-name:default:web"] });
    world.fake.fault = ({ path }) => (path.startsWith("/v2/tags/") ? errorAnswer(status, "any") : undefined);
    const service = aService({ annotations: { ...disowned, [ID]: there.id } });
    const leave = (deleteOrphaned: boolean) => {
      const settings = settingsWith(CLUSTER);
      const { loadBalancers } = settings;
      const all = { ...settings, loadBalancers: { ...loadBalancers, deleteOrphaned } };
      return bringAbout(world.cloud(CLUSTER), all, service, { wanted: false });
    };
    expect((await leave(false)).last).toEqual({ kind: "settled", ingress: [], warnings: [] });
    // Else the audit would delete what was left to somebody else.
    expect((await leave(true)).last).toMatchObject({ kind: "error" });
    expect(balancers()).toMatchObject([{ id: there.id }]);
  });

  test("or of which nobody can tell whether it is, stays, and the Service with it", async () => {
    const ours = world.fake.addLoadBalancer({ name: DEFAULT_NAME });
    const annotations = { "service.kubernetes.io/do-loadbalancer-disown": "yes", [ID]: ours.id };
    const { last } = await bringAbout(world.cloud(), settingsWith(), aService({ annotations }), {
      wanted: false,
    });
    expect(last).toMatchObject({ kind: "refused", problem: { code: "InvalidAnnotation" } });
    expect(balancers()).toHaveLength(1);
  });
});
