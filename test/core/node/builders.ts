import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";

export const NOW = new Date("2026-03-01T12:00:00Z");

/** Prefixes of the cloud's labels. */
export const LABEL_PREFIXES = ["topology.k8s.aws/"] as const;

export const TAINT = { key: UNINITIALIZED_TAINT, value: "true", effect: "NoSchedule" };

/** Overrides of the default node: just registered, five seconds old and tainted. */
export interface NodeDifference {
  readonly metadata?: Partial<Node["metadata"]>;
  readonly spec?: Node["spec"];
  readonly status?: Node["status"];
}

export function buildNode({ metadata, spec, status }: NodeDifference = {}): Node {
  return {
    metadata: {
      name: "node-a",
      uid: "4a3f7c1e-0000-4000-8000-00000000000a",
      resourceVersion: "1001",
      creationTimestamp: getCreationTime(5),
      labels: {},
      annotations: {},
      ...metadata,
    },
    spec: spec ?? { taints: [TAINT] },
    status: status ?? {},
  };
}

export function getCreationTime(seconds: number): string {
  return new Date(NOW.getTime() - seconds * 1_000).toISOString();
}

export function buildInstance(difference: Partial<Instance> = {}): Instance {
  return {
    id: "i-0a1b2c3d4e5f60718",
    account: "123456789012",
    network: "vpc-0123456789abcdef0",
    state: "running",
    providerID: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718",
    type: "m7g.large",
    zone: "eu-central-1a",
    region: "eu-central-1",
    addresses: [buildInternalAddress("10.0.1.17")],
    labels: {},
    ...difference,
  };
}

export function buildFoundAnswer(difference: Partial<Instance> = {}): InstanceAnswer {
  return { kind: "found", instance: buildInstance(difference) };
}

export function buildInternalAddress(address: string): NodeAddress {
  return { type: "InternalIP", address };
}

export function buildExternalAddress(address: string): NodeAddress {
  return { type: "ExternalIP", address };
}

export function buildHostname(address: string): NodeAddress {
  return { type: "Hostname", address };
}

/** A node after its initialization from `instance()`. */
export function buildInitializedNode({ metadata, spec, status }: NodeDifference = {}): Node {
  return buildNode({
    metadata: {
      annotations: { "serverless-ccm.io/instance": IDENTITY },
      labels: {
        "beta.kubernetes.io/instance-type": "m7g.large",
        "node.kubernetes.io/instance-type": "m7g.large",
        "failure-domain.beta.kubernetes.io/zone": "eu-central-1a",
        "topology.kubernetes.io/zone": "eu-central-1a",
        "failure-domain.beta.kubernetes.io/region": "eu-central-1",
        "topology.kubernetes.io/region": "eu-central-1",
      },
      ...metadata,
    },
    spec: spec ?? { providerID: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" },
    status: status ?? { addresses: [buildInternalAddress("10.0.1.17")] },
  });
}

export const IDENTITY = "123456789012/vpc-0123456789abcdef0/i-0a1b2c3d4e5f60718";
