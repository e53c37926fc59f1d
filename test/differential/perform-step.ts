import { setTimeout as sleep } from "node:timers/promises";
import {
  AssociateAddressCommand,
  CreateTagsCommand,
  DescribeAddressesCommand,
  DisassociateAddressCommand,
  StartInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from "@aws-sdk/client-ec2";
import { formatLoadBalancerName } from "#clouds/aws/load-balancers/names.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import type { Failure } from "#test/clouds/aws/moto/failures.ts";
import type { NodeSpec, ServiceSpec, Step } from "./history.ts";
import { type Machine, SERVICES_PATH, type Side } from "./side.ts";

const MERGE = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";
const PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";
const AUTOSCALER_TAINT = "ToBeDeletedByClusterAutoscaler";

/**
 * Lets a step happen on a side. Its changes of the cloud pass by the failures, which are for the contender. Objects
 * that the contender has deleted stay deleted.
 */
export async function performStep(side: Side, step: Step): Promise<void> {
  switch (step.do) {
    case "join node":
      return join(side, step.node, step.spec);
    case "set readiness":
      return setReadiness(side, getMachine(side, step.node), step.status);
    case "stop instance":
    case "terminate instance": {
      const machine = getMachine(side, step.node);
      const InstanceIds = [machine.id];
      if (step.do === "stop instance") await side.direct.ec2.send(new StopInstancesCommand({ InstanceIds }));
      else await side.direct.ec2.send(new TerminateInstancesCommand({ InstanceIds }));
      // As kube-controller-manager does when the kubelet is silent.
      return setReadiness(side, machine, "Unknown");
    }
    case "start instance": {
      const machine = getMachine(side, step.node);
      await side.direct.ec2.send(new StartInstancesCommand({ InstanceIds: [machine.id] }));
      return setReadiness(side, machine, "True");
    }
    case "delete node": {
      const { id, nodeName } = getMachine(side, step.node);
      await side.direct.ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
      await side.attempt({ method: "DELETE", path: `/api/v1/nodes/${nodeName}` });
      return;
    }
    case "give public address":
      return givePublicAddress(side, getMachine(side, step.node));
    case "take public address":
      return takePublicAddress(side, getMachine(side, step.node));
    case "tag instance": {
      const Tags = [{ Key: "team", Value: step.value }];
      await side.direct.ec2.send(
        new CreateTagsCommand({ Resources: [getMachine(side, step.node).id], Tags }),
      );
      return;
    }
    case "label node":
      // The cloud's labels take the place of those that a node has before.
      await waitUntilInitialized(side, getMachine(side, step.node));
      return patchNode(side, getMachine(side, step.node), MERGE, {
        metadata: { labels: { [step.label]: step.value } },
      });
    case "taint for the autoscaler":
      return setAutoscalerTaint(side, getMachine(side, step.node), true);
    case "untaint":
      return setAutoscalerTaint(side, getMachine(side, step.node), false);
    case "create Service":
      return createService(side, step.service, step.spec);
    case "change Service":
      return changeService(side, step.service, step.spec);
    case "touch Service": {
      const path = `${SERVICES_PATH}/${formatServiceName(step.service)}`;
      const body = { metadata: { annotations: { "example.com/touched": "true" } } };
      await side.attempt({ method: "PATCH", path, contentType: MERGE, body });
      return;
    }
    case "delete Service":
      await side.attempt({ method: "DELETE", path: `${SERVICES_PATH}/${formatServiceName(step.service)}` });
      return;
    case "disturb the cloud": {
      const { operation, count, failure } = step;
      return side.moto.failures.plan({ operation, count, failure: FAILURES[failure] });
    }
    case "calm the cloud":
      return side.moto.failures.drop();
  }
}

const FAILURES: Readonly<Record<Extract<Step, { do: "disturb the cloud" }>["failure"], Failure>> = {
  throttle: { kind: "throttle" },
  error: { kind: "refuse", code: "InternalError", status: 500 },
  reset: { kind: "reset" },
  "lose-answer": { kind: "lose-answer" },
};

function formatServiceName(service: number): string {
  return `service-${service}`;
}

function getMachine({ machines }: Side, node: number): Machine {
  const machine = machines.get(node);
  if (machine === undefined) throw new Error(`node ${node} has not joined`);
  return machine;
}

async function join(side: Side, node: number, spec: NodeSpec): Promise<void> {
  const machine = await side.launch(node);
  if (spec.isPublic) await givePublicAddress(side, machine);
  const body = buildJoiningNode({
    name: machine.nodeName,
    ...(spec.hasProviderID ? { providerID: `aws:///${machine.zone}/${machine.id}` } : {}),
    ...(spec.hasNodeIP ? { nodeIP: machine.address } : {}),
    ...(spec.isTainted ? { taints: [{ key: "cni.example.com/not-ready", effect: "NoSchedule" }] } : {}),
  });
  await side.ask({ method: "POST", path: "/api/v1/nodes?fieldManager=kubelet", body });
  await setReadiness(side, machine, "True");
}

/** Resolves when the contender has removed the node's taint, or after a while. */
async function waitUntilInitialized(side: Side, { nodeName }: Machine): Promise<void> {
  const deadline = performance.now() + INITIALIZATION_MS;
  while (performance.now() < deadline) {
    const { spec } = (await side.ask({ method: "GET", path: `/api/v1/nodes/${nodeName}` })) as {
      readonly spec: { readonly taints?: readonly { readonly key: string }[] };
    };
    if (!spec.taints?.some(({ key }) => key === UNINITIALIZED_TAINT)) return;
    await sleep(200);
  }
}

const UNINITIALIZED_TAINT = "node.cloudprovider.kubernetes.io/uninitialized";
const INITIALIZATION_MS = 20_000;

/**
 * Sets the autoscaler's taint or removes it, and keeps the others. A patch cannot: to Kubernetes the list is one
 * value. So it is read and written like the autoscaler does it, again if it has changed in between.
 */
async function setAutoscalerTaint(side: Side, { nodeName }: Machine, isSet: boolean): Promise<void> {
  const path = `/api/v1/nodes/${nodeName}`;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const { metadata, spec } = (await side.ask({ method: "GET", path })) as {
      readonly metadata: { readonly resourceVersion: string };
      readonly spec: { readonly taints?: readonly { readonly key: string }[] };
    };
    const others = spec.taints?.filter(({ key }) => key !== AUTOSCALER_TAINT) ?? [];
    const taint = { key: AUTOSCALER_TAINT, value: "1", effect: "NoSchedule" };
    const taints = isSet ? [...others, taint] : others;
    const { resourceVersion } = metadata;
    const body = { metadata: { resourceVersion }, spec: { taints } };
    if (await side.attempt({ method: "PATCH", path, contentType: MERGE, body })) return;
  }
  throw new Error(
    `${side.name}: node ${nodeName} changed during each of ${MAX_ATTEMPTS} attempts to taint it`,
  );
}

const MAX_ATTEMPTS = 10;

async function setReadiness(side: Side, { nodeName }: Machine, status: string): Promise<void> {
  await side.attempt({
    method: "PATCH",
    path: `/api/v1/nodes/${nodeName}/status?fieldManager=kubelet`,
    contentType: STRATEGIC,
    body: { status: { conditions: [{ type: "Ready", status, reason: "Test" }] } },
  });
}

async function patchNode(
  side: Side,
  { nodeName }: Machine,
  contentType: string,
  body: object,
): Promise<void> {
  await side.attempt({ method: "PATCH", path: `/api/v1/nodes/${nodeName}`, contentType, body });
}

async function givePublicAddress(side: Side, { id, elastic }: Machine): Promise<void> {
  const address = { InstanceId: id, AllocationId: elastic.allocation };
  await side.direct.ec2.send(new AssociateAddressCommand({ ...address, AllowReassociation: true }));
}

async function takePublicAddress(side: Side, { elastic }: Machine): Promise<void> {
  const AllocationIds = [elastic.allocation];
  const { Addresses = [] } = await side.direct.ec2.send(new DescribeAddressesCommand({ AllocationIds }));
  const AssociationId = Addresses[0]?.AssociationId;
  if (AssociationId !== undefined)
    await side.direct.ec2.send(new DisassociateAddressCommand({ AssociationId }));
}

async function createService(side: Side, service: number, spec: ServiceSpec): Promise<void> {
  const name = formatServiceName(service);
  const { metadata, ...body } = buildService(spec, {});
  const created = (await side.ask({
    method: "POST",
    path: SERVICES_PATH,
    body: { apiVersion: "v1", kind: "Service", metadata: { name, ...metadata }, ...body },
  })) as { readonly metadata: { readonly uid: string } };
  side.rename(formatLoadBalancerName(created.metadata.uid) ?? "", `<${name}>`);
}

async function changeService(side: Side, service: number, spec: ServiceSpec): Promise<void> {
  const path = `${SERVICES_PATH}/${formatServiceName(service)}`;
  const { metadata } = (await side.ask({ method: "GET", path })) as {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  };
  const body = buildService(spec, metadata.annotations ?? {});
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    if (await side.attempt({ method: "PATCH", path, contentType: MERGE, body })) return;
    await sleep(200);
  }
  throw new Error(`${side.name}: ${path} could not be changed in ${MAX_ATTEMPTS} attempts`);
}

/** Builds a Service, or the merge patch that leaves nothing else of an earlier one's annotations. */
function buildService(spec: ServiceSpec, old: Readonly<Record<string, string>>) {
  const isLoadBalancer = spec.type === "LoadBalancer";
  const removed = Object.keys(old).filter((key) => key.startsWith(PREFIX));
  const given = Object.entries(spec.annotations).map(([key, value]) => [`${PREFIX}${key}`, value]);
  return {
    metadata: {
      annotations: { ...Object.fromEntries(removed.map((key) => [key, null])), ...Object.fromEntries(given) },
    },
    spec: {
      type: spec.type,
      ports: spec.ports.map(({ port, nodePort, protocol }) => ({
        ...{ name: `p${port}`, port, protocol, targetPort: port },
        ...(isLoadBalancer ? { nodePort } : {}),
      })),
      loadBalancerSourceRanges: isLoadBalancer && spec.ranges.length > 0 ? spec.ranges : null,
      externalTrafficPolicy: isLoadBalancer ? (spec.isLocal ? "Local" : "Cluster") : null,
      healthCheckNodePort: isLoadBalancer && spec.isLocal ? spec.healthCheckNodePort : null,
      allocateLoadBalancerNodePorts: isLoadBalancer ? true : null,
    },
  };
}
