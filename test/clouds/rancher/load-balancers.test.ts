import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Capability } from "#clouds/cloud.ts";
import {
  describeOnCattle,
  cattleLoadBalancerModel as model,
} from "#clouds/rancher/cattle/load-balancers/model.ts";
import { formatExternalName } from "#clouds/rancher/cattle/load-balancers/state.ts";
import type {
  LoadBalancerAction,
  LoadBalancerQuestion,
  LoadBalancerStep,
  TargetNode,
} from "#core/service/model.ts";
import { Service } from "#core/service/service.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { buildCall } from "#test/clouds/builders.ts";
import { type CattleWorld, createCattleWorld } from "#test/clouds/rancher/cattle-world.ts";
import { buildCattleError, type CattleAnswer, type FakeHost } from "#test/clouds/rancher/fake-cattle.ts";
import { settleAll } from "#test/clouds/rancher/fake-cattle-services.ts";

const SETTINGS = { ...DEFAULT_SETTINGS, cloud: { provider: "rancher", mode: "cattle" } };
const UID = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
const NAME = "lb-a0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const MAX_STEPS = 60;

let world: CattleWorld;
let capability: Capability;
beforeEach(async () => {
  world = await createCattleWorld();
  const found = world.cloud().capabilities?.["loadBalancers"];
  if (found === undefined) throw new Error("no load balancers");
  capability = found;
});
afterEach(() => world.close());

const nodeOf = ({ hostname, uuid }: FakeHost): TargetNode => ({
  name: `${hostname}`,
  providerID: `rancher://${uuid}`,
});

function question(
  nodes: readonly TargetNode[],
  traits: { uid?: string; wanted?: boolean; spec?: object } = {},
): LoadBalancerQuestion {
  const { uid = UID, wanted = true, spec = {} } = traits;
  const metadata = {
    namespace: "default",
    name: "web",
    uid,
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  const ports = [{ port: 80, nodePort: 30_080, protocol: "TCP" }];
  return {
    wanted,
    nodes: wanted ? nodes : [],
    service: Service.parse({ metadata, spec: { type: "LoadBalancer", ports, ...spec } }),
  };
}

const orderOf = (action: LoadBalancerAction) => ({
  on: "cloud" as const,
  capability: "loadBalancers",
  precondition: { uid: "u", deleting: false },
  ...action,
});

/** Runs passes until the question is settled; returns all steps. */
async function play(
  asked: LoadBalancerQuestion,
): Promise<{ step: LoadBalancerStep; done: string[]; waits: number }> {
  const done: string[] = [];
  let waits = 0;
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const { answers } = await capability.observe([asked], buildCall());
    const [observed] = answers;
    if (observed?.kind !== "observed") throw new Error(JSON.stringify(observed));
    const step = model.planStep(asked, observed.state, SETTINGS);
    if (step.kind === "wait") {
      waits += 1;
      continue;
    }
    if (step.kind !== "act") return { step, done, waits };
    let state = observed.state;
    for (const action of step.actions) {
      const { answer } = await capability.act(orderOf(action), buildCall());
      done.push(answer.kind === "done" ? action.action : `${action.action}: ${answer.kind}`);
      if (answer.kind !== "done") break;
      state = model.applyResult(state, action, answer.result);
    }
    // The applied result equals the next observation, except for changes that the cloud made itself
    // meanwhile.
    expect(() => model.planStep(asked, state, SETTINGS)).not.toThrow();
  }
  throw new Error(`no end after ${MAX_STEPS} steps: ${done}`);
}

const services = () => [...world.fake.services.all.values()];
const named = (name: string) => services().find((each) => each.name === name);

describe("a Service", () => {
  test("gets a stack, services for its nodes, links, rules and an address, one step at a time", async () => {
    const hosts = [world.fake.add(), world.fake.add()];
    const { step, done, waits } = await play(question(hosts.map(nodeOf)));
    expect(step).toEqual({
      kind: "settled",
      ingress: [{ ip: "203.0.113.10" }, { ip: "203.0.113.11" }],
      warnings: [],
    });
    expect(done).toEqual([
      "CreateStack",
      "CreateLoadBalancer",
      "CreateExternalService",
      "CreateExternalService",
      "SetServiceLinks",
      "ActivateExternalService",
      "ActivateExternalService",
      "UpdateLoadBalancer",
      "ActivateLoadBalancer",
    ]);
    expect(waits).toBeGreaterThan(0);
    expect([...world.fake.services.stacks.values()]).toMatchObject([
      { name: "kubernetes-loadbalancers", externalId: "kubernetes-loadbalancers://" },
    ]);
    const externals = services().filter(({ kind }) => kind === "externalService");
    expect(externals.map(({ name, externalIpAddresses }) => [name, externalIpAddresses])).toEqual(
      hosts.map(({ hostname, addresses }) => [formatExternalName(`${hostname}`), [addresses[0]]]),
    );
    expect(named(NAME)).toMatchObject({
      state: "active",
      launchConfig: { imageUuid: "docker:rancher/lb-service-haproxy:v0.9.14", ports: ["80:80/tcp"] },
      links: externals.map(({ id }) => id),
      lbConfig: {
        portRules: externals.map(({ id }) => ({
          sourcePort: 80,
          targetPort: 30_080,
          serviceId: id,
          protocol: "tcp",
        })),
      },
    });
    expect((await play(question(hosts.map(nodeOf)))).done).toEqual([]);
  });

  test("is created again for other ports, and keeps the services of its nodes", async () => {
    const nodes = [nodeOf(world.fake.add())];
    await play(question(nodes));
    const before = named(NAME)?.id;
    const spec = { ports: [{ port: 8080, nodePort: 30_080, protocol: "TCP" }] };
    const { done } = await play(question(nodes, { spec }));
    expect(done).toEqual([
      "DeleteLoadBalancer",
      "CreateLoadBalancer",
      "SetServiceLinks",
      "UpdateLoadBalancer",
      "ActivateLoadBalancer",
    ]);
    expect(named(NAME)?.id).not.toBe(before);
  });

  test("with another node port gets other rules, and nothing else", async () => {
    const nodes = [nodeOf(world.fake.add())];
    await play(question(nodes));
    const spec = { ports: [{ port: 80, nodePort: 30_081, protocol: "TCP" }] };
    expect((await play(question(nodes, { spec }))).done).toEqual(["UpdateLoadBalancer"]);
  });

  test("loses a node with that node's service, unless others send to it", async () => {
    const [one, other] = [nodeOf(world.fake.add()), nodeOf(world.fake.add())];
    const second = { uid: "11111111-2222-3333-4444-555555555555" };
    await play(question([one, other]));
    await play(question([one], second));
    const { done } = await play(question([]));
    expect(done).toEqual(["DeleteExternalService", "SetServiceLinks", "UpdateLoadBalancer"]);
    expect(
      services()
        .filter(({ kind }) => kind === "externalService")
        .map(({ name }) => name),
    ).toEqual([formatExternalName(one.name)]);
    expect((await play(question([one], { ...second, wanted: false }))).done).toEqual([
      "DeleteLoadBalancer",
      "DeleteExternalService",
    ]);
    expect((await play(question([], { wanted: false }))).done).toEqual(["DeleteLoadBalancer"]);
    settleAll(world.fake.services);
    expect(services()).toEqual([]);
  });

  test("leaves nothing of its nodes if the others go in the same pass", async () => {
    const node = nodeOf(world.fake.add());
    const all = [UID, "11111111-2222-3333-4444-555555555555"].map((uid) => question([node], { uid }));
    for (const each of all) await play(each);
    const gone = all.map((each) => ({ ...each, wanted: false, nodes: [] }));
    const { answers } = await capability.observe(gone, buildCall());
    for (const [index, each] of gone.entries()) {
      const observed = answers[index];
      const step = observed?.kind === "observed" ? model.planStep(each, observed.state, SETTINGS) : undefined;
      expect(step).toMatchObject({ kind: "act", actions: [{ action: "DeleteLoadBalancer" }] });
    }
    for (const each of gone) await play(each);
    settleAll(world.fake.services);
    expect(services()).toEqual([]);
  });

  test("that is deleted before it was linked takes the services of its nodes with it", async () => {
    const node = nodeOf(world.fake.add());
    await play(question([node]));
    for (const each of services()) each.links = [];
    await play(question([], { wanted: false }));
    settleAll(world.fake.services);
    expect(services()).toEqual([]);
  });

  test("leaves nothing of a node that two lose in the same pass", async () => {
    const [one, other] = [nodeOf(world.fake.add()), nodeOf(world.fake.add())];
    const uids = [UID, "11111111-2222-3333-4444-555555555555"];
    for (const uid of uids) await play(question([one, other], { uid }));
    const left = uids.map((uid) => question([one], { uid }));
    const { answers } = await capability.observe(left, buildCall());
    for (const [index, each] of left.entries()) {
      const observed = answers[index];
      const step = observed?.kind === "observed" ? model.planStep(each, observed.state, SETTINGS) : undefined;
      // Each sees that the other one still sends to it.
      expect(step).toMatchObject({ kind: "act", actions: [{ action: "SetServiceLinks" }] });
      if (step?.kind === "act") await capability.act(orderOf(step.actions[0]), buildCall());
    }
    for (const each of left) await play(each);
    settleAll(world.fake.services);
    const externals = services().filter(({ kind }) => kind === "externalService");
    expect(externals.map(({ name }) => name)).toEqual([formatExternalName(one.name)]);
  });

  test("is not deleted if Rancher does not return its ports", async () => {
    const nodes = [nodeOf(world.fake.add())];
    await play(question(nodes));
    Object.assign(named(NAME) ?? {}, { launchConfig: undefined });
    const { answers } = await capability.observe([question(nodes)], buildCall());
    const state = answers[0]?.kind === "observed" ? answers[0].state : undefined;
    expect(state).toMatchObject({ balancers: [{ name: NAME, ports: null }] });
    expect(model.planStep(question(nodes), state, SETTINGS)).toMatchObject({ kind: "wait" });
  });

  test("gets its own rules in place of unreadable ones, and does not affect others", async () => {
    const nodes = [nodeOf(world.fake.add())];
    const second = { uid: "11111111-2222-3333-4444-555555555555" };
    await play(question(nodes));
    await play(question(nodes, second));
    const own = named(NAME);
    const rules = own?.lbConfig?.portRules ?? [];
    Object.assign(own ?? {}, {
      lbConfig: { portRules: rules.map((rule) => ({ ...rule, serviceId: null })) },
    });
    expect((await play(question(nodes, second))).done).toEqual([]);
    expect((await play(question(nodes))).done).toEqual(["UpdateLoadBalancer"]);
    expect(named(NAME)?.lbConfig?.portRules).toEqual(rules);
  });

  test("does not publish an endpoint that is not an address", async () => {
    const nodes = [nodeOf(world.fake.add())];
    await play(question(nodes));
    const endpoints = [null, "", "web-1.example.com", "203.0.113.7", "2001:DB8:0::1", "203.0.113.7"];
    world.fake.fault = ({ path, method }) =>
      path === "/loadbalancerservices" && method === "GET" ? withEndpoints(endpoints) : undefined;
    expect((await play(question(nodes))).step).toMatchObject({
      kind: "settled",
      ingress: [{ ip: "203.0.113.7" }, { ip: "2001:db8::1" }],
    });
  });

  test("without any resource needs no deletion, and no further requests", async () => {
    const { step, done } = await play(question([], { wanted: false }));
    expect([step, done]).toEqual([{ kind: "settled", ingress: [], warnings: [] }, []]);
    expect(world.fake.requests.map(({ path }) => path)).toEqual(["", "/schemas", "/stacks"]);
  });

  test.each<[string, (host: FakeHost) => TargetNode]>([
    ["without a provider ID", ({ hostname }) => ({ name: `${hostname}` })],
    ["of another cloud", () => ({ name: "node-1", providerID: "aws:///eu-central-1a/i-1" })],
    ["of a host outside the environment", () => ({ name: "node-1", providerID: "rancher://foreign" })],
    [
      "of a host without an address",
      (host) => {
        host.addresses = [];
        return nodeOf(host);
      },
    ],
  ])("leaves out a node %s, and serves the others", async (_, unusable) => {
    const usable = nodeOf(world.fake.add());
    const { step } = await play(question([usable, unusable(world.fake.add())]));
    expect(step.kind).toBe("settled");
    expect(named(NAME)?.links).toHaveLength(1);
  });

  test("with two load balancers of its name is left alone", async () => {
    await play(question([nodeOf(world.fake.add())]));
    const own = named(NAME);
    if (own === undefined) throw new Error("no load balancer");
    world.fake.services.all.set("1s99", { ...own, id: "1s99" });
    const { step, done } = await play(question([]));
    expect([step, done]).toMatchObject([{ kind: "refused", issue: { code: "AmbiguousLoadBalancer" } }, []]);
    expect((await play(question([], { wanted: false }))).done).toEqual([]);
  });

  test("is described by doctor", async () => {
    const nodes = [nodeOf(world.fake.add())];
    const state = async () => {
      const [observed] = (await capability.observe([question(nodes)], buildCall())).answers;
      return observed?.kind === "observed" ? describeOnCattle(observed.state) : undefined;
    };
    expect(await state()).toEqual({ belongsTo: "none", lines: [] });
    await play(question(nodes));
    expect(await state()).toMatchObject({
      belongsTo: "service",
      lines: [
        expect.stringContaining(NAME),
        "at 203.0.113.10 and 203.0.113.11",
        "rule tcp:80 to node port 30080",
        "nodes: 1",
      ],
    });
  });
});

describe("load balancers work with K3s and RKE2 nodes", () => {
  test.each([true, false])("a Service belongs to another controller (wanted: %j)", (wanted) => {
    const settings = { ...DEFAULT_SETTINGS, cloud: { provider: "rancher", distribution: "k3s" } };
    expect(model.precheck(question([], { wanted }), settings)).toEqual({ kind: "foreign" });
  });
});

describe("an observation is an error, and nothing is done, if", () => {
  test.each<[string, string, string]>([
    ["the stack is missing", "/stacks", "Unavailable"],
    ["load balancers are missing", "/loadbalancerservices", "Unavailable"],
    ["the services of nodes are missing", "/externalservices", "Unavailable"],
    ["hosts are missing", "/hosts", "Unavailable"],
    ["the image is missing", "/settings/lb.instance.image", "Unavailable"],
    ["the addresses of a host are missing", "/hosts/1h1/ipaddresses", "Unavailable"],
  ])("%s", async (_, at, code) => {
    world.fake.services.stacks.set("1st1", {
      id: "1st1",
      name: "kubernetes-loadbalancers",
      externalId: "kubernetes-loadbalancers://",
    });
    world.fake.fault = ({ path }) => (path === at ? buildCattleError(500, "ServerError") : undefined);
    const { answers } = await capability.observe([question([nodeOf(world.fake.add())])], buildCall());
    expect(answers).toMatchObject([{ kind: "error", code }]);
  });
});

test("a resource without a link for its deletion is not a load balancer, and nothing is done", async () => {
  const nodes = [nodeOf(world.fake.add())];
  await play(question(nodes));
  world.fake.fault = ({ path, method }) =>
    path === "/loadbalancerservices" && method === "GET" ? withEndpoints([], {}) : undefined;
  const { answers } = await capability.observe([question([], { wanted: false })], buildCall());
  expect(answers).toMatchObject([{ kind: "error", code: "Unavailable" }]);
});

/** Answers the list of load balancers with these endpoints, and with other links if given. */
function withEndpoints(endpoints: readonly (string | null)[], links?: Record<string, string>): CattleAnswer {
  const own = named(NAME);
  const self = `${world.fake.linksAt}/loadbalancerservices/${own?.id}`;
  const data = {
    ...own,
    links: links ?? { self, consumedservices: `${self}/consumedservices` },
    actions: { deactivate: `${self}?action=deactivate`, setservicelinks: `${self}?action=setservicelinks` },
    publicEndpoints: endpoints.map((ipAddress) => ({ ipAddress, port: 80 })),
  };
  return { status: 200, body: { type: "collection", data: [data], pagination: null } };
}

describe("an action", () => {
  const act = async (action: string, parameters: Record<string, unknown>) => {
    const order = {
      on: "cloud" as const,
      capability: "loadBalancers",
      action,
      target: "t",
      parameters,
      precondition: { uid: "u", deleting: false },
    };
    return (await capability.act(order, buildCall())).answer;
  };

  test.each<[string, string, Record<string, unknown>, string]>([
    ["with an unknown name is invalid", "PaintLoadBalancer", {}, "Invalid"],
    ["without its parameters is invalid", "DeleteLoadBalancer", {}, "Invalid"],
    [
      "at a link to another server is not sent",
      "DeleteLoadBalancer",
      { url: "http://evil.example.com/1s1" },
      "Denied",
    ],
  ])("%s", async (_, action, parameters, code) => {
    expect(await act(action, parameters)).toMatchObject({ kind: "error", code });
    expect(world.fake.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  });

  test("with an outdated precondition is a conflict, and a repeated deletion is done", async () => {
    const gone = `${world.fake.linksAt}/loadbalancerservices/1s77`;
    expect(await act("ActivateLoadBalancer", { url: `${gone}?action=activate` })).toMatchObject({
      kind: "conflict",
    });
    expect(await act("DeleteLoadBalancer", { url: gone })).toMatchObject({ kind: "done" });
    await act("CreateStack", { name: "kubernetes-loadbalancers", externalId: "kubernetes-loadbalancers://" });
    expect(
      await act("CreateStack", {
        name: "kubernetes-loadbalancers",
        externalId: "kubernetes-loadbalancers://",
      }),
    ).toMatchObject({
      kind: "conflict",
      reason: "NotUnique",
    });
  });

  test("whose answer is lost is not sent twice", async () => {
    world.fake.gate = { enter: () => "pass", leave: ({ isChange }) => !isChange };
    const answer = await act("CreateStack", {
      name: "kubernetes-loadbalancers",
      externalId: "kubernetes-loadbalancers://",
    });
    expect(answer).toMatchObject({ kind: "error", code: "Unavailable" });
    expect(world.fake.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
    expect(world.fake.services.stacks.size).toBe(1);
  });
});

test.each([
  ["web-1", "web-1"],
  ["web-1.example.com", "web-1-example-com"],
  ["a..b__c", "a-b-c"],
  [".-web-.", "web"],
  [`${"a".repeat(62)}.b`, "a".repeat(62)],
  ["x".repeat(100), "x".repeat(63)],
])("the service of node %j has the name %j", (name, expected) => {
  expect(formatExternalName(name)).toBe(expected);
});
