import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Capability } from "#clouds/cloud.ts";
import { describeOnCattle } from "#clouds/rancher/cattle/load-balancers/describe.ts";
import { cattleLoadBalancerModel as model } from "#clouds/rancher/cattle/load-balancers/model.ts";
import { externalName } from "#clouds/rancher/cattle/load-balancers/names.ts";
import type {
  LoadBalancerAction,
  LoadBalancerQuestion,
  LoadBalancerStep,
  TargetNode,
} from "#core/service/model.ts";
import { Service } from "#core/service/service.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { aCall } from "#test/clouds/builders.ts";
import { aCattleWorld, type CattleWorld } from "#test/clouds/rancher/cattle-world.ts";
import { type CattleAnswer, cattleError, type FakeHost } from "#test/clouds/rancher/fake-cattle.ts";
import { settleAll } from "#test/clouds/rancher/fake-cattle-services.ts";

const SETTINGS = { ...DEFAULT_SETTINGS, cloud: { provider: "rancher", mode: "cattle" } };
const UID = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
const NAME = "lb-a0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const MAX_STEPS = 60;

let world: CattleWorld;
let capability: Capability;
beforeEach(async () => {
  world = await aCattleWorld();
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

/** What becomes of a question when each pass is followed by another one, and all that was done. */
async function play(
  asked: LoadBalancerQuestion,
): Promise<{ step: LoadBalancerStep; done: string[]; waits: number }> {
  const done: string[] = [];
  let waits = 0;
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const { answers } = await capability.observe([asked], aCall());
    const [observed] = answers;
    if (observed?.kind !== "observed") throw new Error(JSON.stringify(observed));
    const step = model.next(asked, observed.state, SETTINGS);
    if (step.kind === "wait") {
      waits += 1;
      continue;
    }
    if (step.kind !== "act") return { step, done, waits };
    let state = observed.state;
    for (const action of step.actions) {
      const { answer } = await capability.act(orderOf(action), aCall());
      done.push(answer.kind === "done" ? action.action : `${action.action}: ${answer.kind}`);
      if (answer.kind !== "done") break;
      state = model.fold(state, action, answer.result);
    }
    // What is folded is what is observed next, as far as it was not done by itself meanwhile.
    expect(() => model.next(asked, state, SETTINGS)).not.toThrow();
  }
  throw new Error(`no end after ${MAX_STEPS} steps: ${done}`);
}

const services = () => [...world.fake.services.all.values()];
const named = (name: string) => services().find((each) => each.name === name);

describe("a Service", () => {
  test("gets a stack, services for its nodes, links, rules and an address, each step for itself", async () => {
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
      hosts.map(({ hostname, addresses }) => [externalName(`${hostname}`), [addresses[0]]]),
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

  test("is made anew with other ports, and keeps what stands for its nodes", async () => {
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

  test("loses a node with what stands for it, unless somebody else sends to that", async () => {
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
    ).toEqual([externalName(one.name)]);
    expect((await play(question([one], { ...second, wanted: false }))).done).toEqual([
      "DeleteLoadBalancer",
      "DeleteExternalService",
    ]);
    expect((await play(question([], { wanted: false }))).done).toEqual(["DeleteLoadBalancer"]);
    settleAll(world.fake.services);
    expect(services()).toEqual([]);
  });

  test("leaves nothing of its nodes where the others go in the same pass", async () => {
    const node = nodeOf(world.fake.add());
    const all = [UID, "11111111-2222-3333-4444-555555555555"].map((uid) => question([node], { uid }));
    for (const each of all) await play(each);
    const gone = all.map((each) => ({ ...each, wanted: false, nodes: [] }));
    const { answers } = await capability.observe(gone, aCall());
    for (const [index, each] of gone.entries()) {
      const observed = answers[index];
      const step = observed?.kind === "observed" ? model.next(each, observed.state, SETTINGS) : undefined;
      expect(step).toMatchObject({ kind: "act", actions: [{ action: "DeleteLoadBalancer" }] });
    }
    for (const each of gone) await play(each);
    settleAll(world.fake.services);
    expect(services()).toEqual([]);
  });

  test("that goes before it was linked takes with it what was made for its nodes", async () => {
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
    const { answers } = await capability.observe(left, aCall());
    for (const [index, each] of left.entries()) {
      const observed = answers[index];
      const step = observed?.kind === "observed" ? model.next(each, observed.state, SETTINGS) : undefined;
      // Each sees that the other one still sends to it.
      expect(step).toMatchObject({ kind: "act", actions: [{ action: "SetServiceLinks" }] });
      if (step?.kind === "act") await capability.act(orderOf(step.actions[0]), aCall());
    }
    for (const each of left) await play(each);
    settleAll(world.fake.services);
    const externals = services().filter(({ kind }) => kind === "externalService");
    expect(externals.map(({ name }) => name)).toEqual([externalName(one.name)]);
  });

  test("is not deleted where Rancher does not say which ports it has", async () => {
    const nodes = [nodeOf(world.fake.add())];
    await play(question(nodes));
    Object.assign(named(NAME) ?? {}, { launchConfig: undefined });
    const { answers } = await capability.observe([question(nodes)], aCall());
    const state = answers[0]?.kind === "observed" ? answers[0].state : undefined;
    expect(state).toMatchObject({ balancers: [{ name: NAME, ports: null }] });
    expect(model.next(question(nodes), state, SETTINGS)).toMatchObject({ kind: "wait" });
  });

  test("gets its own rules in place of those that nobody can read, and is not the trouble of others", async () => {
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

  test("is told of no endpoint that is no address", async () => {
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

  test("of which there is nothing is nothing to delete, and nothing is looked at beyond that", async () => {
    const { step, done } = await play(question([], { wanted: false }));
    expect([step, done]).toEqual([{ kind: "settled", ingress: [], warnings: [] }, []]);
    expect(world.fake.requests.map(({ path }) => path)).toEqual(["", "/schemas", "/stacks"]);
  });

  test.each<[string, (host: FakeHost) => TargetNode]>([
    ["of no provider ID", ({ hostname }) => ({ name: `${hostname}` })],
    ["of another cloud", () => ({ name: "node-1", providerID: "aws:///eu-central-1a/i-1" })],
    [
      "of a host that is not the environment's",
      () => ({ name: "node-1", providerID: "rancher://somebody-else" }),
    ],
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
    expect([step, done]).toMatchObject([{ kind: "refused", problem: { code: "AmbiguousLoadBalancer" } }, []]);
    expect((await play(question([], { wanted: false }))).done).toEqual([]);
  });

  test("is described", async () => {
    const nodes = [nodeOf(world.fake.add())];
    const state = async () => {
      const [observed] = (await capability.observe([question(nodes)], aCall())).answers;
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

describe("beside K3s and RKE2", () => {
  test.each([true, false])("a Service is somebody else's (wanted: %j)", (wanted) => {
    const settings = { ...DEFAULT_SETTINGS, cloud: { provider: "rancher", distribution: "k3s" } };
    expect(model.before(question([], { wanted }), settings)).toEqual({ kind: "elsewhere" });
  });
});

describe("an observation is an error, and nothing is done, where", () => {
  test.each<[string, string, string]>([
    ["the stack is not told", "/stacks", "Unavailable"],
    ["load balancers are not told", "/loadbalancerservices", "Unavailable"],
    ["what stands for nodes is not told", "/externalservices", "Unavailable"],
    ["hosts are not told", "/hosts", "Unavailable"],
    ["the image is not told", "/settings/lb.instance.image", "Unavailable"],
    ["the addresses of a host are not told", "/hosts/1h1/ipaddresses", "Unavailable"],
  ])("%s", async (_, at, code) => {
    world.fake.services.stacks.set("1st1", {
      id: "1st1",
      name: "kubernetes-loadbalancers",
      externalId: "kubernetes-loadbalancers://",
    });
    world.fake.fault = ({ path }) => (path === at ? cattleError(500, "ServerError") : undefined);
    const { answers } = await capability.observe([question([nodeOf(world.fake.add())])], aCall());
    expect(answers).toMatchObject([{ kind: "error", code }]);
  });
});

test("what does not say where it is deleted is no load balancer, and nothing is done", async () => {
  const nodes = [nodeOf(world.fake.add())];
  await play(question(nodes));
  world.fake.fault = ({ path, method }) =>
    path === "/loadbalancerservices" && method === "GET" ? withEndpoints([], {}) : undefined;
  const { answers } = await capability.observe([question([], { wanted: false })], aCall());
  expect(answers).toMatchObject([{ kind: "error", code: "Unavailable" }]);
});

/** The list of load balancers with these endpoints, and with other links where some are given. */
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
    return (await capability.act(order, aCall())).answer;
  };

  test.each<[string, string, Record<string, unknown>, string]>([
    ["that nobody knows is invalid", "PaintLoadBalancer", {}, "Invalid"],
    ["without its parameters is invalid", "DeleteLoadBalancer", {}, "Invalid"],
    [
      "at a link to elsewhere is not sent",
      "DeleteLoadBalancer",
      { url: "http://evil.example.com/1s1" },
      "Denied",
    ],
  ])("%s", async (_, action, parameters, code) => {
    expect(await act(action, parameters)).toMatchObject({ kind: "error", code });
    expect(world.fake.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  });

  test("that presupposes what is not so any more is a conflict, and what is deleted already is done", async () => {
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
])("what stands for node %j is named %j", (name, expected) => {
  expect(externalName(name)).toBe(expected);
});
