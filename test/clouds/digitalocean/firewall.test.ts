import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DecisionContext } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { ANNOTATIONS } from "#core/digitalocean/exposed-service.ts";
import { firewallController } from "#core/digitalocean/firewall/controller.ts";
import { CREATE, EVERYWHERE, UPDATE } from "#core/digitalocean/firewall/state.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { buildErrorAnswer } from "#emulators/digitalocean/answer.ts";
import { buildFirewall, type FakeFirewall } from "#emulators/digitalocean/firewalls.ts";
import { TAG, VPC } from "#emulators/digitalocean/names.ts";
import { playController } from "#test/clouds/digitalocean/play-controller.ts";
import { buildConfig, createNodeWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";
import {
  buildBalancedService,
  buildContext,
  buildNodePortService,
  CLUSTER,
} from "#test/core/digitalocean/firewall/world.ts";

const NAME = "k8s-public";
const CONFIG = { publicAccessFirewall: { name: NAME, tags: [TAG] } };
const OPEN = { sources: { addresses: [...EVERYWHERE] } };
const OUT = { destinations: { addresses: [...EVERYWHERE] } };
const OUTBOUND = [
  { protocol: "icmp", ports: "0", ...OUT },
  { protocol: "tcp", ports: "all", ...OUT },
  { protocol: "udp", ports: "all", ...OUT },
];
const WEB = buildNodePortService("web", [30080]);

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

function play(services: readonly unknown[], config: Record<string, unknown> = CONFIG): Promise<Decision> {
  const cloud = world.cloud(config);
  const settings = { ...DEFAULT_SETTINGS, cloud: buildConfig(config) };
  const context: DecisionContext = buildContext(services, { settings });
  return playController(firewallController, CLUSTER, cloud, context);
}

function add(traits: Partial<FakeFirewall> = {}): FakeFirewall {
  const firewall = buildFirewall({ name: NAME, tags: [TAG], ...traits });
  world.fake.firewalls.set(firewall.id, firewall);
  return firewall;
}

function all(): FakeFirewall[] {
  return [...world.fake.firewalls.values()];
}

function changes(): string[] {
  return world.fake.requests
    .filter(({ method }) => method !== "GET")
    .map(({ method, path }) => `${method} ${path}`);
}

describe("the firewall of the droplets", () => {
  test("is created, is then correct, and changes with the Services", async () => {
    const elsewhere = add({ name: "k8s-other", tags: ["other"] });
    expect(await play([WEB])).toMatchObject({ kind: "unchanged" });
    expect(all()).toEqual([
      elsewhere,
      {
        ...{ id: expect.any(String), name: NAME, tags: [TAG], droplet_ids: [] },
        ...{ inbound_rules: [{ protocol: "tcp", ports: "30080", ...OPEN }], outbound_rules: OUTBOUND },
      },
    ]);
    expect(changes()).toEqual(["POST /v2/firewalls"]);
    // A new process finds it again by its name, and has nothing to do.
    expect(await play([WEB])).toMatchObject({ kind: "unchanged" });
    expect(changes()).toHaveLength(1);
    const after = await play([buildNodePortService("web", [30081, "udp/30053"])]);
    expect(after.kind).toBe("unchanged");
    const [, own] = all();
    expect(changes().slice(1)).toEqual([`PUT /v2/firewalls/${own?.id}`]);
    expect(own?.inbound_rules).toEqual([
      { protocol: "tcp", ports: "30081", ...OPEN },
      { protocol: "udp", ports: "30053", ...OPEN },
    ]);
    expect(all()[0]).toEqual(elsewhere);
  });

  test("allows health checks from the cluster's own load balancers only", async () => {
    const own = world.fake.addLoadBalancer({ tags: ["k8s:7b1c"] });
    own.health_check.port = 10_256;
    const others = world.fake.addLoadBalancer({ tags: ["k8s:other"] });
    const nobodys = world.fake.addLoadBalancer({});
    const naming = (name: string, id: string) =>
      buildBalancedService(name, [443], { annotations: { [ANNOTATIONS.loadBalancerID]: id } });
    const config = { ...CONFIG, clusterID: "7b1c" };
    await play([naming("web", own.id)], config);
    expect(all()[0]?.inbound_rules).toEqual([
      { protocol: "tcp", ports: "10256", sources: { load_balancer_uids: [own.id] } },
      { protocol: "tcp", ports: "443", ...OPEN },
    ]);
    for (const { id } of [others, nobodys, { id: crypto.randomUUID() }]) {
      await play([naming("web", id)], config);
      expect(all()[0]?.inbound_rules[0]).toEqual({ protocol: "tcp", ports: "10256", ...OPEN });
    }
  });

  test("is created next to any firewalls of others, and not if the list is invalid", async () => {
    const odd = { id: crypto.randomUUID(), name: "k8s-odd", inbound_rules: [{ protocol: 7 }] };
    const answer = (body: object) => {
      world.fake.fault = ({ method }) =>
        method === "GET" ? { status: 200, body: JSON.stringify(body) } : undefined;
    };
    answer({ firewalls: [] });
    expect(await play([WEB])).toMatchObject({ kind: "retry", because: { code: "Unavailable" } });
    answer({ firewalls: [{ ...odd, name: NAME }], links: {}, meta: { total: 1 } });
    expect(await play([WEB])).toMatchObject({ kind: "retry", because: { code: "Unavailable" } });
    expect(changes()).toEqual([]);
    answer({ firewalls: [odd], links: {}, meta: { total: 1 } });
    expect(await play([WEB])).toMatchObject({ kind: "unchanged" });
    expect(changes()).toEqual(["POST /v2/firewalls"]);
  });

  test("without clusterID treats load balancers of the cluster's network as its own", async () => {
    const near = world.fake.addLoadBalancer({});
    const far = world.fake.addLoadBalancer({ vpc_uuid: VPC.replace("7", "8") });
    const health = async (id: string) => {
      await play([buildBalancedService("web", [443], { annotations: { [ANNOTATIONS.loadBalancerID]: id } })]);
      return all()[0]?.inbound_rules[0]?.sources;
    };
    expect(await health(near.id)).toEqual({ load_balancer_uids: [near.id] });
    expect(await health(far.id)).toEqual(OPEN.sources);
  });

  test.each([
    ["droplets of its own", { droplet_ids: ["7"] }, "FirewallForeign"],
    ["another tag", { tags: [TAG, "db"] }, "FirewallForeign"],
  ])("with %s is not touched, and reported", async (_given, traits, code) => {
    const there = add(traits);
    expect(await play([WEB])).toMatchObject({ kind: "retry", because: { code }, events: [{ code }] });
    expect(all()).toEqual([there]);
    expect(changes()).toEqual([]);
  });

  test("that exists twice is not touched, and reported", async () => {
    add();
    add();
    expect(await play([WEB])).toMatchObject({ because: { code: "FirewallAmbiguous" } });
    expect(changes()).toEqual([]);
  });

  test("on a later page is found", async () => {
    for (let index = 0; index < 200; index += 1) add({ name: `other-${index}`, tags: [] });
    const own = add();
    expect(await play([WEB])).toMatchObject({ kind: "unchanged" });
    expect(changes()).toEqual([`PUT /v2/firewalls/${own.id}`]);
    expect(world.fake.requests.filter(({ method }) => method === "GET")).toHaveLength(2);
  });

  test("with more rules than allowed is reported, and keeps its rules", async () => {
    const there = add();
    const many = buildNodePortService(
      "web",
      Array.from({ length: 60 }, (_, index) => 30_000 + index),
    );
    expect(await play([many])).toMatchObject({
      ...{ kind: "retry", afterSeconds: 300, because: { code: "Invalid" } },
      events: [{ reason: "SyncFirewallFailed", code: "FirewallRefused" }],
    });
    expect(all()).toEqual([there]);
  });

  test("whose creation got no answer is found by the next observation, and not created twice", async () => {
    world.fake.lost = ({ method }) => (method === "POST" ? "destroy" : undefined);
    expect(await play([WEB])).toMatchObject({ kind: "retry", because: { code: "Unavailable" } });
    world.fake.lost = undefined;
    expect(await play([WEB])).toMatchObject({ kind: "unchanged" });
    expect(all()).toHaveLength(1);
  });

  test("that another actor creates meanwhile is not created twice", async () => {
    world.fake.fault = ({ method }) => {
      if (method === "POST" && all().length === 0) add();
      return undefined;
    };
    expect(await play([WEB])).toMatchObject({ kind: "retry", because: { code: "Conflict" } });
    expect(await play([WEB])).toMatchObject({ kind: "unchanged" });
    expect(all()).toHaveLength(1);
  });
});

describe("if the list of firewalls is unusable, nothing is created", () => {
  test.each([
    ["it is denied", buildErrorAnswer(403, "forbidden"), "Denied"],
    ["the token is wrong", buildErrorAnswer(401, "unauthorized"), "Denied"],
    ["it is throttled", buildErrorAnswer(429, "too_many_requests", { "retry-after": "30" }), "Throttled"],
    ["the service fails", buildErrorAnswer(503, "server_error"), "Unavailable"],
    ["a proxy answers", { status: 200, body: "<html>" }, "Unavailable"],
    ["it is another thing", { status: 200, body: '{"droplets":[]}' }, "Unavailable"],
    ["it holds another thing", { status: 200, body: '{"firewalls":[{"id":7}]}' }, "Unavailable"],
    ["the connection breaks", "destroy", "Unavailable"],
  ] as const)("%s", async (_given, answer, code) => {
    world.fake.fault = ({ path }) => (path === "/v2/firewalls" ? answer : undefined);
    expect(await play([WEB])).toMatchObject({ kind: "retry", because: { code } });
    expect(changes()).toEqual([]);
  });

  test("endless pages", async () => {
    const links = { pages: { next: "https://api.digitalocean.com/v2/firewalls?page=2" } };
    const pages = (firewalls: () => unknown) => {
      world.fake.requests.length = 0;
      world.fake.fault = ({ path }) => {
        const body = JSON.stringify({ firewalls: firewalls(), links });
        return path === "/v2/firewalls" ? { status: 200, body } : undefined;
      };
    };
    pages(() => [{ id: crypto.randomUUID(), name: "k8s-other" }]);
    expect(await play([WEB])).toMatchObject({ kind: "retry", because: { code: "Unavailable" } });
    expect(world.fake.requests).toHaveLength(10);
    // The same page repeatedly.
    pages(() => [{ id: "fw-1", name: "k8s-other" }]);
    expect(await play([WEB])).toMatchObject({ kind: "retry", because: { code: "Unavailable" } });
    expect(world.fake.requests).toHaveLength(2);
  });
});

const FIREWALL_ID = "4de7ac8b-495b-4884-9a69-1050c6793cd6";

describe("the capability", () => {
  const call = () => ({ signal: new AbortController().signal, share: 1 });
  const action = (traits: Record<string, unknown>) => ({
    ...{ on: "cloud" as const, capability: "firewall", action: UPDATE, target: FIREWALL_ID, parameters: {} },
    ...{ precondition: { uid: "u", deleting: false } },
    ...traits,
  });
  const parameters = { name: NAME, tags: [TAG], inbound: [], outbound: [] };

  test.each([
    ["invalid parameters", { parameters: { name: 7 } }],
    ["an action that there is not", { action: "DeleteFirewall", parameters }],
    ["an ID with a path", { target: "../account", parameters }],
  ])("refuses %s without a request", async (_given, traits) => {
    const firewall = world.cloud().capabilities?.["firewall"];
    expect((await firewall?.act(action(traits), call()))?.answer).toMatchObject({ code: "Invalid" });
    expect(world.fake.requests).toEqual([]);
  });

  test("reports a missing firewall as gone, and an invalid answer as an error", async () => {
    const firewall = world.cloud().capabilities?.["firewall"];
    const gone = await firewall?.act(action({ parameters }), call());
    expect(gone?.answer).toMatchObject({ kind: "conflict" });
    world.fake.fault = () => ({ status: 202, body: "{}" });
    const odd = await firewall?.act(action({ action: CREATE, parameters }), call());
    expect(odd?.answer).toMatchObject({ kind: "error", code: "Unavailable" });
  });

  test("answers each question: an invalid one, one after the deadline, one with little quota left", async () => {
    const firewall = world.cloud().capabilities?.["firewall"];
    const question = { name: NAME, loadBalancers: [] };
    expect((await firewall?.observe([7, question], call()))?.answers).toMatchObject([
      { code: "Invalid" },
      { kind: "observed" },
    ]);
    const late = await firewall?.observe([question], { signal: AbortSignal.abort(), share: 1 });
    expect(late?.answers).toMatchObject([{ code: "Aborted" }]);
    world.fake.rateLimit = { "ratelimit-remaining": "100" };
    await firewall?.observe([question], call());
    const held = await firewall?.observe([question], call());
    expect(held?.answers).toMatchObject([{ code: "Throttled" }]);
    expect(world.fake.requests).toHaveLength(2);
  });
});
