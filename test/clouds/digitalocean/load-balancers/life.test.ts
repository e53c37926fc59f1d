import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildErrorAnswer } from "#emulators/digitalocean/answer.ts";
import {
  buildNodes,
  buildService,
  buildSettings,
  converge,
  DEFAULT_NAME,
  ID,
  PREFIX,
} from "#test/clouds/digitalocean/load-balancers/round.ts";
import { createNodeWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const changes = () =>
  world.fake.requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);
const balancers = () => [...world.fake.loadBalancers.values()];

describe("the life of a Service", () => {
  test("creates the load balancer with the settings of annotations, in a form that the API keeps", async () => {
    const subnet = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
    const config = { clusterID: "c1", allow: { subnets: [subnet] } };
    const annotations = {
      ...{ type: "REGIONAL", protocol: "http", "size-slug": "lb-medium", "subnet-uuid": subnet },
      "sticky-sessions-type": "cookies",
      "sticky-sessions-cookie-name": "SID",
      "sticky-sessions-cookie-ttl": "60",
    };
    const nodes = buildNodes([world.fake.add()]);
    const [cloud, settings] = [world.cloud(config), buildSettings(config)];
    const made = await converge(cloud, settings, buildService({ annotations }), { nodes });
    expect(made.last).toMatchObject({ kind: "settled", ingress: [{ ip: "198.51.100.1" }, {}] });
    expect(balancers()).toMatchObject([
      {
        size: "lb-medium",
        subnet_uuid: subnet,
        sticky_sessions: { type: "cookies", cookie_name: "SID", cookie_ttl_seconds: 60 },
        forwarding_rules: [{ entry_protocol: "http" }, { entry_protocol: "http" }],
      },
    ]);
    expect((await converge(cloud, settings, made.service, { nodes })).done).toEqual([]);
  });

  test("creates, publishes and changes the load balancer, sends it to other nodes, and deletes it", async () => {
    const [cloud, settings] = [world.cloud({ clusterID: "c1" }), buildSettings({ clusterID: "c1" })];
    const droplets = [world.fake.add(), world.fake.add({ id: "9223372036854775807" })];
    const made = await converge(cloud, settings, buildService(), { nodes: buildNodes(droplets) });
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

    const again = await converge(cloud, settings, made.service, { nodes: buildNodes(droplets) });
    expect(again.done).toEqual([]);

    const changed = buildService({
      annotations: { ...made.service.metadata.annotations, "deny-rules": "cidr:192.0.2.9/24" },
    });
    world.pass(20_000);
    const more = [...droplets, world.fake.add()];
    const after = await converge(cloud, settings, changed, { nodes: buildNodes(more) });
    expect(after.done).toEqual(["ReplaceLoadBalancer"]);
    expect(balancers()).toMatchObject([
      {
        droplet_ids: more.map(({ id }) => id).sort((a, b) => a.length - b.length || (a < b ? -1 : 1)),
        firewall: { deny: ["cidr:192.0.2.0/24"] },
      },
    ]);

    const gone = await converge(cloud, settings, changed, { wanted: false });
    expect(gone.done).toEqual(["DeleteLoadBalancer"]);
    expect(gone.last).toEqual({ kind: "settled", ingress: [], warnings: [] });
    expect(balancers()).toEqual([]);
    expect(
      changes()
        .slice(sent)
        .map((each) => each.split(" ")[0]),
    ).toEqual(["PUT", "DELETE"]);
    const nothing = await converge(cloud, settings, changed, { wanted: false });
    expect(nothing.done).toEqual([]);
  });

  test("keeps manual changes of the console during a change", async () => {
    const [cloud, settings] = [world.cloud(), buildSettings()];
    const droplets = [world.fake.add()];
    const made = await converge(cloud, settings, buildService(), { nodes: buildNodes(droplets) });
    const [balancer] = balancers();
    Object.assign(balancer ?? {}, { project_id: "their-project", tls_cipher_policy: "STRONG" });
    droplets.push(world.fake.add());
    world.pass(20_000);
    await converge(cloud, settings, made.service, { nodes: buildNodes(droplets) });
    expect(balancers()).toMatchObject([
      { project_id: "their-project", tls_cipher_policy: "STRONG", droplet_ids: droplets.map(({ id }) => id) },
    ]);
  });

  test("publishes both addresses if all nodes are dual-stack", async () => {
    const v6 = [{ ip_address: "2604:a880:800:10::1", netmask: 64, gateway: "::", type: "public" }];
    const droplet = world.fake.add();
    droplet.networks = { v4: droplet.networks?.v4 ?? [], v6 };
    const made = await converge(world.cloud(), buildSettings(), buildService(), {
      nodes: buildNodes([droplet]),
    });
    expect(made.last).toMatchObject({ ingress: [{ ip: "198.51.100.1" }, { ip: "2604:a880:800:14::1" }] });
    expect(balancers()).toMatchObject([{ network_stack: "DUALSTACK" }]);
  });

  test("publishes a host name in place of addresses", async () => {
    const service = buildService({ annotations: { hostname: "Web.Example.com" } });
    const made = await converge(world.cloud(), buildSettings(), service, {
      nodes: buildNodes([world.fake.add()]),
    });
    expect(made.last).toMatchObject({ kind: "settled", ingress: [{ hostname: "web.example.com" }] });
  });

  test("reports a failure of the cloud", async () => {
    const [cloud, settings, nodes] = [world.cloud(), buildSettings(), buildNodes([world.fake.add()])];
    const made = await converge(cloud, settings, buildService(), { nodes });
    Object.assign(balancers()[0] ?? {}, { status: "errored" });
    const after = await converge(cloud, settings, made.service, { nodes });
    expect(after.last).toMatchObject({ kind: "refused", issue: { code: "LoadBalancerFailed" } });
  });
});

describe("no second one is made", () => {
  const lost = ["destroy", { status: 500, body: "{}" }, { status: 202, body: "rubbish" }] as const;
  for (const answer of lost) {
    test(`if the creation was answered with ${JSON.stringify(answer)}`, async () => {
      let count = 0;
      world.fake.lost = ({ method }) => {
        count += method === "POST" ? 1 : 0;
        return method === "POST" && count === 1 ? answer : undefined;
      };
      const made = await converge(world.cloud(), buildSettings(), buildService(), {
        nodes: buildNodes([world.fake.add()]),
        errors: 1,
      });
      expect(made.last).toMatchObject({ kind: "settled" });
      expect(balancers()).toHaveLength(1);
      expect(changes()).toEqual(["POST /v2/load_balancers"]);
    });
  }

  test("if the annotation names a missing one, and the answer of the next creation was lost", async () => {
    const service = buildService({ annotations: { [ID]: "4de7ac8b-495b-4884-9a69-1050c6793cd6" } });
    const ours = world.fake.addLoadBalancer({ name: DEFAULT_NAME });
    const made = await converge(world.cloud(), buildSettings(), service, {
      nodes: buildNodes([world.fake.add()]),
    });
    expect(made.service.metadata.annotations?.[ID]).toBe(ours.id);
    expect(balancers()).toHaveLength(1);
  });
});

describe("a load balancer that is disowned", () => {
  const CLUSTER = { clusterID: "c1" };
  const disowned = { "service.kubernetes.io/do-loadbalancer-disown": "true" };

  test("is left alone without a request, and the Service is released", async () => {
    const ours = world.fake.addLoadBalancer({ name: DEFAULT_NAME });
    const service = buildService({ annotations: { ...disowned, [ID]: ours.id } });
    const [cloud, settings] = [world.cloud(), buildSettings()];
    const kept = await converge(cloud, settings, service, { nodes: buildNodes([world.fake.add()]) });
    expect(kept.last).toEqual({ kind: "foreign" });
    const left = await converge(cloud, settings, service, { wanted: false });
    expect(left.last).toEqual({ kind: "settled", ingress: [], warnings: [] });
    expect(balancers()).toHaveLength(1);
    expect(world.fake.requests).toEqual([]);
  });

  test.each([
    ["the cluster's own is left without an owner", ["k8s:c1"], ["k8s:c1"]],
    ["another cluster's is left as it is", ["k8s:c2"], ["k8s:c2", "k8s-service-name:default:web"]],
    ["one without an owner stays unchanged", [], ["k8s-service-name:default:web"]],
  ])("and is named by its ID goes with its Service: %s", async (_, tags, left) => {
    const there = world.fake.addLoadBalancer({ tags: [...tags, "k8s-service-name:default:web"] });
    world.fake.tags.add("k8s-service-name:default:web");
    const config = { clusterID: "c1" };
    const service = buildService({ annotations: { ...disowned, [ID]: there.id } });
    const { last } = await converge(world.cloud(config), buildSettings(config), service, { wanted: false });
    expect(last).toEqual({ kind: "settled", ingress: [], warnings: [] });
    expect(balancers()).toMatchObject([{ id: there.id, tags: left }]);
  });

  test.each([500, 429, 401])(
    "keeps the Service's deletion going while the tag API answers %i",
    async (status) => {
      const there = world.fake.addLoadBalancer({ tags: ["k8s:c1", "k8s-service-name:default:web"] });
      world.fake.fault = ({ path }) =>
        path.startsWith("/v2/tags/") ? buildErrorAnswer(status, "any") : undefined;
      const service = buildService({ annotations: { ...disowned, [ID]: there.id } });
      const leave = (deleteOrphaned: boolean) => {
        const settings = buildSettings(CLUSTER);
        const { loadBalancers } = settings;
        const all = { ...settings, loadBalancers: { ...loadBalancers, deleteOrphaned } };
        return converge(world.cloud(CLUSTER), all, service, { wanted: false });
      };
      expect((await leave(false)).last).toEqual({ kind: "settled", ingress: [], warnings: [] });
      // Otherwise the audit would delete what was left to another owner.
      expect((await leave(true)).last).toMatchObject({ kind: "error" });
      expect(balancers()).toMatchObject([{ id: there.id }]);
    },
  );

  test("stays, together with the Service, if its ownership is unknown", async () => {
    const ours = world.fake.addLoadBalancer({ name: DEFAULT_NAME });
    const annotations = { "service.kubernetes.io/do-loadbalancer-disown": "yes", [ID]: ours.id };
    const { last } = await converge(world.cloud(), buildSettings(), buildService({ annotations }), {
      wanted: false,
    });
    expect(last).toMatchObject({ kind: "refused", issue: { code: "InvalidAnnotation" } });
    expect(balancers()).toHaveLength(1);
  });
});
