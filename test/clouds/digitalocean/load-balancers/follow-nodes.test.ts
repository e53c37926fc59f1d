import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { digitalOceanLoadBalancerModel as model } from "#clouds/digitalocean/load-balancers/model.ts";
import type { LoadBalancerAction, TargetNode } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { buildCall } from "#test/clouds/builders.ts";
import {
  buildNodes,
  buildService,
  buildSettings,
  converge,
  ID,
} from "#test/clouds/digitalocean/load-balancers/round.ts";
import { createNodeWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const CONFIG = { clusterID: "c1" };
const balancer = () => [...world.fake.loadBalancers.values()][0];

/** Returns a settled load balancer and its Service. */
async function served(droplets: readonly FakeDroplet[]): Promise<Service> {
  const made = await converge(world.cloud(CONFIG), buildSettings(CONFIG), buildService(), {
    nodes: buildNodes(droplets),
  });
  expect(made.last).toMatchObject({ kind: "settled" });
  world.pass(20_000);
  return made.service;
}

function withAnnotations(service: Service, annotations: Readonly<Record<string, string>>): Service {
  const all = buildService({ annotations: { ...service.metadata.annotations, ...annotations } });
  return { ...service, metadata: { ...service.metadata, annotations: all.metadata.annotations } };
}

/** Applies what the model plans for the current nodes, and plans again. */
async function follow(
  service: Service,
  nodes: readonly TargetNode[],
): Promise<readonly string[] | undefined> {
  const capability = world.cloud(CONFIG).capabilities?.["loadBalancers"];
  const question = { service, wanted: true, nodes, onlyTargets: true } as const;
  const settings = buildSettings(CONFIG);
  const [answer] = (await capability?.observe([question], buildCall()))?.answers ?? [];
  if (capability === undefined || answer?.kind !== "observed") throw new Error(JSON.stringify(answer));
  let state: unknown = JSON.parse(JSON.stringify(answer.state));
  const actions = model.followNodes?.(question, state, settings) as readonly LoadBalancerAction[] | undefined;
  for (const action of actions ?? []) {
    const precondition = { uid: service.metadata.uid, deleting: false };
    const whole = { on: "cloud", capability: "loadBalancers", ...action, precondition } as const;
    const done = await capability.act(whole, buildCall());
    if (done.answer.kind !== "done") throw new Error(JSON.stringify(done.answer));
    state = model.applyResult(state, action, done.answer.result);
  }
  if (actions !== undefined) expect(model.followNodes?.(question, state, settings)).toEqual([]);
  return actions?.map(({ action }) => action);
}

describe("a served load balancer whose Service has a rejected annotation", () => {
  test.each<[string, Readonly<Record<string, string>>]>([
    ["sticky-sessions-type without a cookie", { "sticky-sessions-type": "cookies" }],
    ["a tls-passthrough that is not a boolean", { "tls-passthrough": "maybe" }],
    ["an invalid name", { name: "no/name" }],
    ["a missing certificate", { type: "REGIONAL", "certificate-id": "00000000-0000-4000-8000-000000000000" }],
  ])("follows the nodes and keeps the rest: %s", async (_, refused) => {
    const droplets = [world.fake.add(), world.fake.add({ id: "9223372036854775807" })];
    const service = withAnnotations(await served(droplets), refused);
    const before = structuredClone(balancer());
    const nodes = buildNodes([...droplets.slice(1), world.fake.add()]);
    expect(await follow(service, nodes)).toEqual(["AddDroplets", "RemoveDroplets"]);
    const ids = nodes.map(({ providerID = "" }) => providerID.replace("digitalocean://", ""));
    expect(balancer()).toEqual({ ...before, droplet_ids: expect.arrayContaining(ids) });
    expect(balancer()?.droplet_ids).toHaveLength(2);
    expect(await follow(service, nodes)).toEqual([]);
  });

  test("is never emptied, and unknown targets stay", async () => {
    const droplets = [world.fake.add(), world.fake.add()];
    const service = withAnnotations(await served(droplets), { "tls-passthrough": "maybe" });
    expect(await follow(service, [])).toBeUndefined();
    expect(await follow(service, [{ name: "no-droplet" }])).toBeUndefined();
    expect(balancer()?.droplet_ids).toHaveLength(2);
  });

  test("is left alone if it is another's, or may be disowned", async () => {
    const droplets = [world.fake.add()];
    const service = await served(droplets);
    const nodes = buildNodes([...droplets, world.fake.add()]);
    const disowned = withAnnotations(service, { "service.kubernetes.io/do-loadbalancer-disown": "perhaps" });
    expect(await follow(disowned, nodes)).toBeUndefined();
    const theirs = world.fake.addLoadBalancer({ name: "theirs", tags: ["k8s:c2"] });
    expect(await follow(withAnnotations(service, { [ID]: theirs.id }), nodes)).toBeUndefined();
    expect(balancer()?.droplet_ids).toHaveLength(1);
  });

  test("waits while DigitalOcean is still changing the load balancer", async () => {
    const droplets = [world.fake.add()];
    const service = withAnnotations(await served(droplets), { "tls-passthrough": "maybe" });
    const message = "Load Balancer can't be updated while it processes previous actions";
    world.fake.fault = ({ method }) =>
      method === "POST" ? { status: 403, body: JSON.stringify({ id: "forbidden", message }) } : undefined;
    await expect(follow(service, buildNodes([...droplets, world.fake.add()]))).rejects.toThrow("Unavailable");
  });
});
