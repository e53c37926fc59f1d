import { readFileSync } from "node:fs";
import * as z from "zod";
import type { Cloud, CloudCall, InstancesResult } from "#clouds/cloud.ts";
import type { MemoryLoadBalancer } from "#clouds/memory/load-balancer-model.ts";
import { createMemoryLoadBalancers } from "#clouds/memory/load-balancers.ts";
import { type Sleep, sleepFor } from "#clouds/sleep.ts";
import { Instance, type InstanceAnswer, InstanceErrorCode, type PositiveControl } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { findDifference, readPlace } from "#core/node-lifecycle/place.ts";

/** An instance of the memory cloud; what is beyond the instance itself says how the cloud behaves towards it. */
export const MemoryInstance = Instance.extend({
  providerID: z.string().regex(/^memory:\/\/./, "a provider ID such as memory:///zone-a/i-1"),
  /** The node that finds this instance by its name alone; `id` where absent. */
  nodeName: z.string().min(1).optional(),
  /** Somebody else's: answered with the error `Foreign`. */
  foreign: z.boolean().optional(),
  /** There, but not yet to be seen: answered with "not-found", as an eventually consistent cloud does. */
  hidden: z.boolean().optional(),
  /** Answered with this error. */
  error: InstanceErrorCode.optional(),
});
export type MemoryInstance = z.output<typeof MemoryInstance>;

/** The file of a `MemoryCloudConfig`: JSON, read once. */
export const MemoryInstancesFile = z.strictObject({ instances: z.array(MemoryInstance) });

/** The state of a memory cloud, by instance id: whoever holds it changes what the cloud answers, from the next call on. */
export interface MemoryInstances {
  readonly instances: Map<string, MemoryInstance>;
  /** Load balancers, by the uid of the Service; without it those of the cloud that is made of this. */
  readonly loadBalancers?: Map<string, MemoryLoadBalancer>;
  /** Milliseconds that each call takes. */
  latencyMs?: number;
  /** With it every call fails as a whole: each node is answered with this error. */
  outage?: InstanceErrorCode | undefined;
}

/** Reads the instances of a file; throws a `ZodError` naming all faults where the file is not as it must be. */
export function readMemoryInstances(file: string): MemoryInstances {
  const { instances } = MemoryInstancesFile.parse(JSON.parse(readFileSync(file, "utf8")));
  return { instances: new Map(instances.map((instance) => [instance.id, instance])) };
}

/** The reference cloud: everything that `Cloud` asks for, in a Map. It has no quotas, so `call.share` changes nothing. */
export function createMemoryCloud(world: MemoryInstances, options: { readonly sleep?: Sleep } = {}): Cloud {
  const sleep = options.sleep ?? sleepFor;
  return {
    provider: "memory",
    async instances(nodes: readonly Node[], call: CloudCall): Promise<InstancesResult> {
      const none = { calls: {}, throttled: 0, waitedMs: 0 };
      if (nodes.length === 0) return { answers: [], usage: none };
      if (call.signal.aborted) return { answers: nodes.map(() => ABORTED), usage: none };
      if (world.latencyMs !== undefined) await sleep(world.latencyMs, call.signal);
      const answers = nodes.map((node) => (call.signal.aborted ? ABORTED : answerFor(node, world, call)));
      const throttled = world.outage === "Throttled" ? 1 : 0;
      return { answers, usage: { calls: { Instances: 1 }, throttled, waitedMs: 0 } };
    },
    capabilities: { loadBalancers: createMemoryLoadBalancers(world, world.loadBalancers ?? new Map()) },
    async close() {},
  };
}

const ABORTED: InstanceAnswer = {
  kind: "error",
  code: "Aborted",
  message: "aborted before the cloud answered",
};

function answerFor(node: Node, world: MemoryInstances, call: CloudCall): InstanceAnswer {
  const subject = `node ${node.metadata.name}`;
  if (world.outage !== undefined) return error(world.outage, `${subject}: the cloud answers ${world.outage}`);
  const { providerID } = node.spec;
  if (providerID && !providerID.startsWith("memory://")) {
    return error("ForeignProviderID", `${subject}: "${providerID}" is not a provider ID of this cloud`);
  }
  const candidates = [...world.instances.values()].filter((instance) => isOf(instance, node));
  const visible = candidates.filter((instance) => instance.hidden !== true);
  const [first, second] = visible.filter((instance) => instance.foreign !== true);
  if (first === undefined) {
    const [foreign] = visible;
    if (foreign === undefined) {
      const control = call.control ? findControl(node, world) : undefined;
      return {
        kind: "not-found",
        message: `no instance for ${subject}`,
        ...(control === undefined ? {} : { control }),
        ...takenOver(node, world),
      };
    }
    return error(
      "Foreign",
      `${subject}: instance ${foreign.id} is not the cluster's but of ${foreign.network}`,
    );
  }
  if (second !== undefined) return error("Ambiguous", `${subject}: both ${first.id} and ${second.id}`);
  if (first.error !== undefined) {
    return error(first.error, `${subject}: instance ${first.id} answers ${first.error}`);
  }
  const isGone = first.state === "terminated";
  return {
    kind: "found",
    instance: factsOf(first, providerID),
    ...(isGone ? takenOver(node, world) : {}),
  };
}

/** Whether an instance is the cluster's, to be seen, and has not ended. */
function isLive({ foreign, hidden, error, state }: MemoryInstance): boolean {
  return !foreign && !hidden && error === undefined && state !== "shutting-down" && state !== "terminated";
}

/** A live instance of the cluster, in the place that a node was seen in where there is one. */
function findControl(node: Node, { instances }: MemoryInstances): PositiveControl | undefined {
  const controls = [...instances.values()]
    .filter(isLive)
    .map(({ id, account, network, region }) => ({ id, account, network, region }));
  const place = readPlace(node);
  return controls.find((control) => findDifference(place, control) === undefined) ?? controls[0];
}

/** The running instance that has by now the name of a node whose own instance, by provider ID, is gone. */
function takenOver(node: Node, world: MemoryInstances): { takenOverBy?: string } {
  if (!node.spec.providerID) return {};
  const named = [...world.instances.values()].filter(
    (instance) =>
      isLive(instance) &&
      instance.state === "running" &&
      (instance.nodeName ?? instance.id) === node.metadata.name,
  );
  const [successor, second] = named;
  return successor === undefined || second !== undefined ? {} : { takenOverBy: successor.id };
}

function isOf(instance: MemoryInstance, node: Node): boolean {
  if (node.spec.providerID) return instance.providerID === node.spec.providerID;
  return (instance.nodeName ?? instance.id) === node.metadata.name;
}

function factsOf(instance: MemoryInstance, providerID: string | undefined): Instance {
  const { nodeName: _nodeName, foreign: _foreign, hidden: _hidden, error: _error, ...facts } = instance;
  return { ...facts, providerID: providerID || facts.providerID };
}

function error(code: InstanceErrorCode, message: string): InstanceAnswer {
  return { kind: "error", code, message };
}
