import { describe, expect, test } from "vitest";
import { createMemoryCloud, type MemoryInstances } from "#clouds/memory/cloud.ts";
import {
  type MemoryLoadBalancer,
  memoryLoadBalancerModel as model,
} from "#clouds/memory/load-balancers/model.ts";
import type { CloudAction } from "#core/decision.ts";
import type { LoadBalancerAction, LoadBalancerQuestion, TargetNode } from "#core/service/model.ts";
import { Service } from "#core/service/service.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";

const CALL = { signal: new AbortController().signal, share: 1 };
const NODES: readonly TargetNode[] = [{ name: "a", providerID: "memory:///a/i-2" }, { name: "b" }];

function question(ports: unknown, wanted = true, nodes = NODES): LoadBalancerQuestion {
  const metadata = {
    namespace: "default",
    name: "web",
    uid: "uid-web",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  return { wanted, nodes, service: Service.parse({ metadata, spec: { type: "LoadBalancer", ports } }) };
}

const PORTS = [{ port: 80, nodePort: 30_080 }];
const LOAD_BALANCER: MemoryLoadBalancer = {
  cluster: DEFAULT_SETTINGS.cluster,
  service: "default/web",
  hostname: "uid-web.memory.example",
  listeners: [{ protocol: "TCP", port: 80, nodePort: 30_080 }],
  targets: ["memory:///a/i-2"],
};

function worldOf(...there: readonly MemoryLoadBalancer[]) {
  const loadBalancers = new Map(there.map((each) => ["uid-web", each]));
  const world: MemoryInstances = { instances: new Map(), loadBalancers };
  const capability = createMemoryCloud(world).capabilities?.["loadBalancers"];
  if (capability === undefined) throw new Error("no load balancers");
  return { world, loadBalancers, capability };
}

function actionOf({ action, target, parameters }: LoadBalancerAction): CloudAction {
  return {
    on: "cloud",
    capability: "loadBalancers",
    action,
    target,
    parameters,
    precondition: { uid: "uid-web", deleting: false },
  };
}

describe("a load balancer of the memory cloud", () => {
  test.each([
    ["is made", question(PORTS), [], [LOAD_BALANCER]],
    ["gets other targets", question(PORTS), [{ ...LOAD_BALANCER, targets: [] }], [LOAD_BALANCER]],
    ["is left as it is", question(PORTS), [LOAD_BALANCER], [LOAD_BALANCER]],
    ["is deleted", question(PORTS, false), [LOAD_BALANCER], []],
    ["is missing and not wanted", question(PORTS, false), [], []],
  ])("%s", async (_, asked, before, after) => {
    const { capability, loadBalancers } = worldOf(...before);
    const { answers } = await capability.observe([asked], CALL);
    let state = answers[0]?.kind === "observed" ? answers[0].state : undefined;
    for (let step = model.planStep(asked, state, DEFAULT_SETTINGS); step.kind === "act"; ) {
      for (const action of step.actions) {
        const { answer } = await capability.act(actionOf(action), CALL);
        if (answer.kind !== "done") throw new Error(answer.message);
        state = model.applyResult(state, action, answer.result);
      }
      step = model.planStep(asked, state, DEFAULT_SETTINGS);
    }
    expect([...loadBalancers.values()]).toEqual(after);
    const ingress = after.map(({ hostname }) => ({ hostname }));
    expect(model.planStep(asked, state, DEFAULT_SETTINGS)).toEqual({
      kind: "settled",
      ingress,
      warnings: [],
    });
  });

  test.each([
    ["without ports", [], { code: "NoPorts", field: "spec.ports" }],
    [
      "without a node port",
      [...PORTS, { port: 81 }],
      { code: "NoNodePort", field: "spec.ports[1].nodePort" },
    ],
  ])("is rejected %s, and still deleted", (_, ports, issue) => {
    expect(model.precheck(question(ports), DEFAULT_SETTINGS)).toEqual({ kind: "refused", issue });
    expect(model.precheck(question(ports, false), DEFAULT_SETTINGS)).toBeUndefined();
  });

  test.each([
    ["CreateLoadBalancer", [LOAD_BALANCER], { kind: "conflict" }],
    ["UpdateLoadBalancer", [], { kind: "conflict" }],
    ["DeleteLoadBalancer", [], { kind: "done" }],
    ["RenameLoadBalancer", [], { kind: "error", code: "Invalid" }],
  ])("%s with a wrong precondition", async (action, before, answer) => {
    const { capability } = worldOf(...before);
    const sent = actionOf({ action, target: "uid-web", parameters: { ...LOAD_BALANCER } });
    expect((await capability.act(sent, CALL)).answer).toMatchObject(answer);
  });

  test.each([
    ["Throttled", "Throttled", 1],
    ["Denied", "Denied", 0],
    ["Unavailable", "Unavailable", 0],
    ["Foreign", "Unavailable", 0],
  ] as const)("reports %s when the cloud does", async (outage, code, throttled) => {
    const { capability, world } = worldOf(LOAD_BALANCER);
    world.outage = outage;
    const seen = await capability.observe([question(PORTS)], CALL);
    expect(seen).toMatchObject({ answers: [{ kind: "error", code }], usage: { throttled } });
    const done = await capability.act(
      actionOf({ action: "DeleteLoadBalancer", target: "uid-web", parameters: {} }),
      CALL,
    );
    expect([done.answer, world.loadBalancers?.size]).toMatchObject([{ kind: "error", code }, 1]);
  });

  test("reports an abort", async () => {
    const { capability } = worldOf();
    const { answers } = await capability.observe([question(PORTS)], { ...CALL, signal: AbortSignal.abort() });
    expect(answers).toMatchObject([{ kind: "error", code: "Aborted" }]);
  });

  test("of one cloud is not in another one", async () => {
    const observed = await Promise.all(
      [0, 1].map(async (index) => {
        const capability = createMemoryCloud({ instances: new Map() }).capabilities?.["loadBalancers"];
        const sent = actionOf({
          action: "CreateLoadBalancer",
          target: "uid-web",
          parameters: { ...LOAD_BALANCER },
        });
        if (index === 0) await capability?.act(sent, CALL);
        return (await capability?.observe([question(PORTS)], CALL))?.answers;
      }),
    );
    expect(observed).toMatchObject([[{ state: LOAD_BALANCER }], [{ state: null }]]);
  });
});
