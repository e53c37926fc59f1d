import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Decision } from "#core/decision.ts";
import { ANNOTATIONS } from "#core/digitalocean/exposed-service.ts";
import { tagsController } from "#core/digitalocean/load-balancer-tags/controller.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { buildErrorAnswer } from "#emulators/digitalocean/answer.ts";
import { VPC } from "#emulators/digitalocean/names.ts";
import { playController } from "#test/clouds/digitalocean/play-controller.ts";
import { buildConfig, createNodeWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";
import {
  buildBalancedService as anyBalanced,
  buildContext,
  CLUSTER,
  type RawTraits,
} from "#test/core/digitalocean/firewall/world.ts";

const CONFIG = { clusterID: "7b1c" };
const CLUSTER_TAG = "k8s:7b1c";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

function play(services: readonly unknown[]): Promise<Decision> {
  const settings = { ...DEFAULT_SETTINGS, cloud: buildConfig(CONFIG) };
  return playController(tagsController, CLUSTER, world.cloud(CONFIG), buildContext(services, { settings }));
}

function uidOf(service: string): string {
  const digits = Buffer.from(service).toString("hex").padEnd(32, "0").slice(0, 32);
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 16),
    digits.slice(16, 20),
    digits.slice(20),
  ].join("-");
}

/** Builds a Service with a uid as API servers make them. */
function balanced(name: string, ports: readonly number[], traits: RawTraits = {}): unknown {
  const service = anyBalanced(name, ports, traits) as { readonly metadata: object };
  return { ...service, metadata: { ...service.metadata, uid: uidOf(name) } };
}

/** Returns the default name of a Service's load balancer. */
function ownName(service: string): string {
  return `a${uidOf(service).replaceAll("-", "")}`.slice(0, 32);
}

function naming(service: string, id: string): unknown {
  return balanced(service, [443], { annotations: { [ANNOTATIONS.loadBalancerID]: id } });
}

function changes(): string[] {
  return world.fake.requests
    .filter(({ method }) => method !== "GET")
    .map(({ method, path }) => `${method} ${path}`);
}

describe("load balancers without the cluster's tag", () => {
  test("get it with one request, and a missing tag is created first", async () => {
    const [a, b] = ["a", "b"].map((name) =>
      world.fake.addLoadBalancer({ name: ownName(name), tags: ["mine"] }),
    );
    expect(await play([naming("a", a?.id ?? ""), balanced("b", [443])])).toMatchObject({ kind: "unchanged" });
    expect([a?.tags, b?.tags]).toEqual([
      ["mine", CLUSTER_TAG],
      ["mine", CLUSTER_TAG],
    ]);
    const assign = `POST /v2/tags/${CLUSTER_TAG}/resources`;
    expect(changes()).toEqual([assign, "POST /v2/tags", assign]);
    expect(await play([balanced("a", [443])])).toMatchObject({ kind: "unchanged" });
    expect(changes()).toHaveLength(3);
  });

  test("that are created for a Service by its own tag get it, with any name", async () => {
    world.fake.tags.add(CLUSTER_TAG);
    const named = world.fake.addLoadBalancer({ name: "web", tags: [`k8s-service:${uidOf("a")}`] });
    await play([balanced("a", [443])]);
    expect(named.tags).toContain(CLUSTER_TAG);
    expect(changes()).toHaveLength(1);
  });

  test.each([
    ["of another cluster", { name: ownName("a"), tags: ["k8s:other"] }, "unchanged"],
    ["in another region", { name: ownName("a"), region: "ams3" }, "unchanged"],
    ["in another network", { name: ownName("a"), vpc_uuid: VPC.replace("7", "8") }, "unchanged"],
    ["that an annotation alone names", { name: "foreign" }, "skip"],
  ])("%s never get it", async (_given, traits, kind) => {
    const others = world.fake.addLoadBalancer(traits);
    const before = [...others.tags];
    expect(await play([naming("a", others.id)])).toMatchObject({ kind });
    expect(others.tags).toEqual(before);
    expect(changes()).toEqual([]);
  });
});

describe("a failing tag request", () => {
  test.each([
    ["/v2/load_balancers", buildErrorAnswer(503, "server_error"), "Unavailable"],
    ["/v2/load_balancers", buildErrorAnswer(403, "forbidden"), "Denied"],
    [`/v2/tags/${CLUSTER_TAG}/resources`, buildErrorAnswer(429, "too_many_requests"), "Throttled"],
    ["/v2/tags", buildErrorAnswer(403, "forbidden"), "Denied"],
  ])("%s is tried again later: %#", async (broken, answer, code) => {
    const own = world.fake.addLoadBalancer({ name: ownName("a") });
    world.fake.fault = ({ path }) => (path === broken ? answer : undefined);
    expect(await play([balanced("a", [443])])).toMatchObject({ kind: "retry", because: { code } });
    expect(own.tags).toEqual([]);
    world.fake.fault = undefined;
    expect(await play([balanced("a", [443])])).toMatchObject({ kind: "unchanged" });
    expect(own.tags).toEqual([CLUSTER_TAG]);
  });

  test("and impossible tags are not requested", async () => {
    const tags = world.cloud(CONFIG).capabilities?.["loadBalancerTags"];
    const call = { signal: new AbortController().signal, share: 1 };
    const action = {
      ...{ on: "cloud" as const, capability: "loadBalancerTags", action: "TagLoadBalancers" },
      ...{ target: CLUSTER_TAG, parameters: { ids: ["lb"] }, precondition: { uid: "u", deleting: false } },
    };
    for (const traits of [{ target: "k8s:other" }, { action: "Untag" }, { parameters: { ids: [] } }])
      expect((await tags?.act({ ...action, ...traits }, call))?.answer).toMatchObject({ code: "Invalid" });
    expect((await tags?.observe([7], call))?.answers).toMatchObject([{ code: "Invalid" }]);
    expect(world.fake.requests).toEqual([]);
  });
});
