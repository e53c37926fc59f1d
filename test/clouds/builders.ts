import type { CloudCall } from "#clouds/cloud.ts";
import { Node } from "#core/node/node.ts";

/** The fields of a node that matter to a test. */
export interface NodeTraits {
  readonly name?: string;
  readonly providerID?: string;
  readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: readonly { readonly key: string; readonly effect: string }[];
  readonly creationTimestamp?: string;
}

/** Builds a node that has just joined. */
export function buildNode(traits: NodeTraits = {}): Node {
  const { name = "node-1", providerID, addresses, labels, annotations, taints, creationTimestamp } = traits;
  return Node.parse({
    metadata: {
      name,
      uid: `uid-of-${name}`,
      resourceVersion: "1",
      creationTimestamp: creationTimestamp ?? "2026-01-01T00:00:00Z",
      labels,
      annotations,
    },
    spec: {
      providerID,
      taints: taints ?? [{ key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule" }],
    },
    status: { addresses },
  });
}

/** Builds a call with all of the quotas and, for a test, unlimited time. */
export function buildCall(call: Partial<CloudCall> = {}): CloudCall {
  return { signal: AbortSignal.timeout(120_000), share: 1, ...call };
}
