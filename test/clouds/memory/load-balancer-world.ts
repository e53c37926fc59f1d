import type { ActionResult, Capability, Cloud, ObservationsResult } from "#clouds/cloud.ts";
import { createMemoryCloud, type MemoryInstances } from "#clouds/memory/cloud.ts";
import { type MemoryLoadBalancer, memoryLoadBalancerModel } from "#clouds/memory/load-balancers/model.ts";
import type { CapabilityErrorCode } from "#core/capability.ts";
import type { Gate, LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { buildRunningInstance, getAddress } from "#test/clouds/memory/running-instance.ts";
import { formatOutline } from "#test/clouds/outline.ts";

/**
 * Creates the memory cloud with a load balancer of another owner; the gate passes calls of the capability, as
 * there is no API.
 */
export async function createMemoryWorld(): Promise<LoadBalancerWorld> {
  const loadBalancers = new Map<string, MemoryLoadBalancer>([[FOREIGN_UID, FOREIGN]]);
  const instances = ["node-a", "node-b", "node-c", "node-d"].map((name, index) =>
    buildRunningInstance(name, getAddress(index)),
  );
  const world: MemoryInstances = {
    instances: new Map(instances.map((instance) => [instance.id, instance])),
    loadBalancers,
  };
  let gate: Gate | undefined;
  return {
    cloud: { provider: "memory", instancesFile: "instances.json" },
    otherCluster: { clusterName: "tenant-b" },
    model: memoryLoadBalancerModel,
    connect: () => behind(createMemoryCloud(world), () => gate),
    nodes: instances.map(({ id, providerID }) => ({ name: id, providerID })),
    refused: [
      {
        title: "ports without node ports",
        code: "NoNodePort",
        spec: { allocateLoadBalancerNodePorts: false, ports: [{ port: 80, name: "http" }] },
      },
    ],
    requestsFor: () => 1,
    setGate: (next) => {
      gate = next;
    },
    advance: async () => undefined,
    outline: async (services) => {
      const names = Object.fromEntries(services.map(({ name, uid }) => [uid, `<uid of ${name}>`]));
      return formatOutline(
        [...loadBalancers].map(([uid, each]) => ({ kind: "load balancer", uid, ...each })),
        names,
      );
    },
    addressOf: ({ hostname }, { name, uid }) => `${hostname}`.replaceAll(uid, `<uid of ${name}>`),
    async point() {
      const then = structuredClone([...loadBalancers]);
      return {
        async back() {
          loadBalancers.clear();
          for (const [uid, each] of structuredClone(then)) loadBalancers.set(uid, each);
        },
      };
    },
    close: async () => undefined,
  };
}

/** The uid of another cluster's Service with the same name. */
const FOREIGN_UID = "11111111-2222-3333-4444-555555555555";
const FOREIGN: MemoryLoadBalancer = {
  cluster: "other",
  service: "default/web",
  hostname: "web.other.example",
  listeners: [{ protocol: "TCP", port: 80, nodePort: 30_080 }],
  targets: ["memory:///zone-a/foreign"],
};

/** Returns the cloud behind a gate. */
function behind(cloud: Cloud, gateNow: () => Gate | undefined): Cloud {
  const inner = cloud.capabilities?.["loadBalancers"];
  if (inner === undefined) throw new Error("the memory cloud has no load balancers");
  const guarded = async <Result>(
    request: { readonly what: string; readonly isChange: boolean },
    signal: AbortSignal,
    carryOut: () => Promise<Result>,
    failed: (code: CapabilityErrorCode) => Result,
  ): Promise<Result> => {
    if (signal.aborted) return carryOut();
    const gate = gateNow();
    const verdict = gate?.enter(request) ?? "pass";
    if (verdict === "stalled") {
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return failed("Aborted");
    }
    if (verdict !== "pass") return failed(verdict === "reset" ? "Unavailable" : verdict);
    const result = await carryOut();
    return gate?.leave(request) === false ? failed("Unavailable") : result;
  };
  const loadBalancers: Capability = {
    observe: (questions, call) =>
      guarded<ObservationsResult>(
        { what: "DescribeLoadBalancers", isChange: false },
        call.signal,
        () => inner.observe(questions, call),
        (code) => ({
          answers: questions.map(() => ({ kind: "error", code, message: code })),
          usage: usageOf("DescribeLoadBalancers", code),
        }),
      ),
    act: (action, call) =>
      guarded<ActionResult>(
        { what: action.action, isChange: true },
        call.signal,
        () => inner.act(action, call),
        (code) => ({
          answer: { kind: "error", code, message: code },
          usage: usageOf(action.action, code),
        }),
      ),
  };
  return { ...cloud, capabilities: { loadBalancers } };
}

function usageOf(call: string, code: CapabilityErrorCode) {
  return { calls: { [call]: 1 }, throttled: code === "Throttled" ? 1 : 0, waitedMs: 0 };
}
