import { readFileSync } from "node:fs";
import * as z from "zod";
import type { Cloud, CloudCall, InstancesResult } from "#clouds/cloud.ts";
import { createLazyCapability } from "#clouds/lazy-capability.ts";
import type { MemoryLoadBalancer } from "#clouds/memory/load-balancers/model.ts";
import { type Sleep, sleepFor } from "#clouds/sleep.ts";
import { Instance, type InstanceAnswer, InstanceErrorCode, type VisibilityProbe } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { findDifference, readLocation } from "#core/node-lifecycle/location.ts";

/** An instance of the memory cloud; the additional fields control how the cloud answers for it. */
export const MemoryInstance = Instance.extend({
  providerID: z.string().regex(/^memory:\/\/./, "a provider ID such as memory:///zone-a/i-1"),
  /** The node that finds this instance by name alone; by default `id`. */
  nodeName: z.string().min(1).optional(),
  /** Belongs to others: answered with the error `Foreign`. */
  foreign: z.boolean().optional(),
  /** Exists but is not visible yet: answered with "not-found", as in an eventually consistent cloud. */
  hidden: z.boolean().optional(),
  /** Answered with this error. */
  error: InstanceErrorCode.optional(),
});
export type MemoryInstance = z.output<typeof MemoryInstance>;

/** The file of a `MemoryCloudConfig`: JSON, read once. */
export const MemoryInstancesFile = z.strictObject({ instances: z.array(MemoryInstance) });

/** The state of a memory cloud, by instance id; changes take effect with the next call. */
export interface MemoryInstances {
  readonly instances: Map<string, MemoryInstance>;
  /** Load balancers by the Service's uid; by default a Map of the cloud's own. */
  readonly loadBalancers?: Map<string, MemoryLoadBalancer>;
  /** Milliseconds that each call takes. */
  latencyMs?: number;
  /** If set, every call fails as a whole: each node gets this error. */
  outage?: InstanceErrorCode | undefined;
}

/** Reads the instances of a file; throws a `ZodError` with all faults if the file is invalid. */
export function readMemoryInstances(file: string): MemoryInstances {
  const { instances } = MemoryInstancesFile.parse(JSON.parse(readFileSync(file, "utf8")));
  return { instances: new Map(instances.map((instance) => [instance.id, instance])) };
}

/**
 * Creates the reference cloud: a complete `Cloud` in a Map. It has no quotas, so `call.share` has no effect.
 */
export function createMemoryCloud(world: MemoryInstances, options: { readonly sleep?: Sleep } = {}): Cloud {
  const sleep = options.sleep ?? sleepFor;
  const loadBalancers = world.loadBalancers ?? new Map<string, MemoryLoadBalancer>();
  return {
    provider: "memory",
    async instances(nodes: readonly Node[], call: CloudCall): Promise<InstancesResult> {
      const none = { calls: {}, throttled: 0, waitedMs: 0 };
      if (nodes.length === 0) return { answers: [], usage: none };
      if (call.signal.aborted) return { answers: nodes.map(() => ABORTED), usage: none };
      if (world.latencyMs !== undefined) await sleep(world.latencyMs, call.signal);
      const answers = nodes.map((node) => (call.signal.aborted ? ABORTED : buildAnswer(node, world, call)));
      const throttled = world.outage === "Throttled" ? 1 : 0;
      return { answers, usage: { calls: { Instances: 1 }, throttled, waitedMs: 0 } };
    },
    capabilities: {
      loadBalancers: createLazyCapability(async () => {
        const { createMemoryLoadBalancers } = await import("#clouds/memory/load-balancers/capability.ts");
        return createMemoryLoadBalancers(world, loadBalancers);
      }),
    },
    async close() {},
  };
}

const ABORTED: InstanceAnswer = {
  kind: "error",
  code: "Aborted",
  message: "aborted before the cloud answered",
};

function buildAnswer(node: Node, world: MemoryInstances, call: CloudCall): InstanceAnswer {
  const subject = `node ${node.metadata.name}`;
  if (world.outage !== undefined)
    return buildError(world.outage, `${subject}: the cloud answers ${world.outage}`);
  const { providerID } = node.spec;
  if (providerID && !providerID.startsWith("memory://")) {
    return buildError("ForeignProviderID", `${subject}: "${providerID}" is not a provider ID of this cloud`);
  }
  const candidates = [...world.instances.values()].filter((instance) => isInstanceOfNode(instance, node));
  const visible = candidates.filter((instance) => instance.hidden !== true);
  const [first, second] = visible.filter((instance) => instance.foreign !== true);
  if (first === undefined) {
    const [foreign] = visible;
    if (foreign === undefined) {
      const control = call.control ? findVisibilityProbe(node, world) : undefined;
      return {
        kind: "not-found",
        message: `no instance for ${subject}`,
        ...(control === undefined ? {} : { control }),
        ...findReplacement(node, world),
      };
    }
    return buildError(
      "Foreign",
      `${subject}: instance ${foreign.id} is not the cluster's but of ${foreign.network}`,
    );
  }
  if (second !== undefined) return buildError("Ambiguous", `${subject}: both ${first.id} and ${second.id}`);
  if (first.error !== undefined) {
    return buildError(first.error, `${subject}: instance ${first.id} answers ${first.error}`);
  }
  const isGone = first.state === "terminated";
  return {
    kind: "found",
    instance: buildInstance(first, providerID),
    ...(isGone ? findReplacement(node, world) : {}),
  };
}

/** Whether an instance belongs to the cluster, is visible, and is not terminated. */
function isLive({ foreign, hidden, error, state }: MemoryInstance): boolean {
  return !foreign && !hidden && error === undefined && state !== "shutting-down" && state !== "terminated";
}

/** Finds a live instance of the cluster, if possible where a node was seen. */
function findVisibilityProbe(node: Node, { instances }: MemoryInstances): VisibilityProbe | undefined {
  const controls = [...instances.values()]
    .filter(isLive)
    .map(({ id, account, network, region }) => ({ id, account, network, region }));
  const place = readLocation(node);
  return controls.find((control) => findDifference(place, control) === undefined) ?? controls[0];
}

/**
 * Finds the replacement instance: the running one that now has the name of a node whose own instance is gone.
 */
function findReplacement(node: Node, world: MemoryInstances): { takenOverBy?: string } {
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

function isInstanceOfNode(instance: MemoryInstance, node: Node): boolean {
  if (node.spec.providerID) return instance.providerID === node.spec.providerID;
  return (instance.nodeName ?? instance.id) === node.metadata.name;
}

function buildInstance(instance: MemoryInstance, providerID: string | undefined): Instance {
  const { nodeName: _nodeName, foreign: _foreign, hidden: _hidden, error: _error, ...facts } = instance;
  return { ...facts, providerID: providerID || facts.providerID };
}

function buildError(code: InstanceErrorCode, message: string): InstanceAnswer {
  return { kind: "error", code, message };
}
