import * as z from "zod";
import type { Capability, Cloud } from "#clouds/cloud.ts";
import { createMemoryLoadBalancers } from "#clouds/memory/load-balancers/capability.ts";
import { MemoryLoadBalancer, memoryLoadBalancerModel } from "#clouds/memory/load-balancers/model.ts";
import type { CloudAction } from "#core/decision.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { type Node, NodeAddress } from "#core/node/node.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { LoadBalancerModel } from "#core/service/model.ts";
import { Ingress } from "#core/service/service.ts";

/** The cloud of a Go test, as cloud-provider/bridge/cloud.go serves it, and the load balancer model for it. */
export interface TestCloud {
  readonly cloud: Cloud;
  readonly loadBalancerModel: LoadBalancerModel;
}

/**
 * Connects to the cloud of a Go test. Its instances are the test's, and its load balancers the memory cloud's.
 * The test's cloud is also asked for each change of a load balancer, and answers with its address.
 */
export function connectTestCloud(url: string): TestCloud {
  const ingressByUid = new Map<string, readonly Ingress[]>();
  /** Nodes whose instance was found, by name. */
  const known = new Map<string, Node>();
  return {
    cloud: {
      provider: "memory",
      async instances(nodes, { control }) {
        const usage = { calls: { Instances: 1 }, throttled: 0, waitedMs: 0 };
        try {
          const probes = control === true ? selectProbes(known, nodes) : [];
          const found = await post(`${url}/instances`, [...nodes, ...probes], z.array(TestInstance));
          const answers = [...nodes, ...probes].map(({ metadata }, index) =>
            toAnswer(metadata.name, found[index]),
          );
          answers.forEach((answer, index) => {
            const node = nodes[index];
            if (node !== undefined && answer.kind === "found") known.set(node.metadata.name, node);
          });
          const probe = answers.slice(nodes.length).find(({ kind }) => kind === "found");
          return { answers: answers.slice(0, nodes.length).map((answer) => addProbe(answer, probe)), usage };
        } catch (error) {
          return { answers: nodes.map(() => buildUnavailable(getErrorMessage(error))), usage };
        }
      },
      capabilities: { loadBalancers: createLoadBalancers(url, ingressByUid) },
      async close() {},
    },
    loadBalancerModel: {
      ...memoryLoadBalancerModel,
      planStep(question, observed, settings) {
        const step = memoryLoadBalancerModel.planStep(question, observed, settings);
        if (step.kind !== "settled" || step.ingress.length === 0) return step;
        return { ...step, ingress: ingressByUid.get(question.service.metadata.uid) ?? [] };
      },
    },
  };
}

/** An answer of POST /instances; the members of `metadata` are Go's. */
const TestInstance = z.object({
  exists: z.boolean(),
  shutdown: z.boolean(),
  metadata: z
    .object({
      ProviderID: z.string(),
      InstanceType: z.string(),
      NodeAddresses: z.array(NodeAddress).nullable(),
      Zone: z.string(),
      Region: z.string(),
      AdditionalLabels: z.record(z.string(), z.string()).nullable(),
    })
    .nullable(),
  error: z.string(),
});

function toAnswer(node: string, found: z.output<typeof TestInstance> | undefined): InstanceAnswer {
  if (found === undefined) return buildUnavailable("the test's cloud gave no answer");
  const { exists, shutdown, metadata, error } = found;
  if (error !== "") return buildUnavailable(error);
  if (!exists || metadata === null) return { kind: "not-found", message: `no instance for node ${node}` };
  return {
    kind: "found",
    instance: {
      ...{
        // The annotation that names it separates its parts by slashes.
        id: metadata.ProviderID.replace(/^.*\//, ""),
        account: "test",
        network: "test",
        state: shutdown ? "stopped" : "running",
      },
      ...{ providerID: metadata.ProviderID, type: metadata.InstanceType },
      ...{ zone: metadata.Zone, region: metadata.Region },
      ...{ addresses: metadata.NodeAddresses ?? [], labels: metadata.AdditionalLabels ?? {} },
    },
  };
}

/** The number of other nodes that are asked about, so that one of them is a visibility probe. */
const MAX_PROBES = 3;

function selectProbes(known: ReadonlyMap<string, Node>, asked: readonly Node[]): readonly Node[] {
  const names = new Set(asked.map(({ metadata }) => metadata.name));
  return [...known.values()].filter(({ metadata }) => !names.has(metadata.name)).slice(0, MAX_PROBES);
}

function addProbe(answer: InstanceAnswer, probe: InstanceAnswer | undefined): InstanceAnswer {
  if (answer.kind !== "not-found" || probe?.kind !== "found") return answer;
  const { id, account, network, region } = probe.instance;
  return { ...answer, control: { id, account, network, region } };
}

function buildUnavailable(message: string): InstanceAnswer {
  return { kind: "error", code: "Unavailable", message };
}

const LoadBalancerStatus = z.object({ ingress: z.array(Ingress).optional() });

function createLoadBalancers(url: string, ingressByUid: Map<string, readonly Ingress[]>): Capability {
  const balancers = new Map<string, MemoryLoadBalancer>();
  const memory = createMemoryLoadBalancers({}, balancers);
  return {
    observe: memory.observe,
    async act(action, call) {
      const usage = { calls: { [action.action]: 1 }, throttled: 0, waitedMs: 0 };
      const change = buildChange(action, balancers.get(action.target));
      if (change === undefined) return memory.act(action, call);
      try {
        const { ingress } = await post(`${url}/load-balancers`, change, LoadBalancerStatus);
        if (change.action === "ensure") ingressByUid.set(action.target, ingress ?? []);
      } catch (error) {
        const message = getErrorMessage(error);
        return { answer: { kind: "error", code: "Unavailable", message }, usage };
      }
      return memory.act(action, call);
    },
  };
}

/** Returns the stock controllers' call for an action; undefined if they have none for it. */
function buildChange({ action, target, parameters }: CloudAction, previous: MemoryLoadBalancer | undefined) {
  const balancer = action === "DeleteLoadBalancer" ? previous : MemoryLoadBalancer.safeParse(parameters).data;
  if (balancer === undefined) return undefined;
  const [namespace = "", name = ""] = balancer.service.split("/");
  const described = {
    ...{ namespace, name, uid: target, providerIDs: balancer.targets },
    ports: balancer.listeners,
  };
  switch (action) {
    case "CreateLoadBalancer":
      return { action: "ensure", ...described };
    case "UpdateLoadBalancer": {
      const areListenersSame =
        formatCanonicalJson(previous?.listeners) === formatCanonicalJson(balancer.listeners);
      return { action: areListenersSame ? "update" : "ensure", ...described };
    }
    case "DeleteLoadBalancer":
      return { action: "delete", ...described };
    default:
      return undefined;
  }
}

async function post<Schema extends z.ZodType>(
  url: string,
  body: unknown,
  schema: Schema,
): Promise<z.output<Schema>> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`the test's cloud: ${text.trim()}`);
  return schema.parse(JSON.parse(text));
}
