import type { SentContext } from "#core/check-deferred-writes.ts";
import { INSTANCE_ANNOTATION, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { DeletionSettings } from "#core/node/settings.ts";
import { createEmptyState, type Deletion, STATE } from "#core/node-lifecycle/state.ts";
import { CERTIFICATE_SIGNING_REQUESTS, NODES } from "#core/resources/resource.ts";
import { buildCsr } from "#test/core/csr/builders.ts";
import { buildConfigMapData } from "#test/core/node-lifecycle/world.ts";

export const NODE_UID = "n-1";

/** When the relay checks the deferred writes. */
export const NOW = new Date("2030-01-01T00:00:00.000Z");
export const MOMENT = { now: NOW.toISOString(), clock: "abc" };

/** An initialized node that is not Ready, with another owner's taint and the uninitialized one. */
export const NODE = {
  metadata: {
    ...{ name: "node-1", uid: NODE_UID, resourceVersion: "5", creationTimestamp: "2029-12-31T00:00:00Z" },
    labels: {},
    annotations: { [INSTANCE_ANNOTATION]: "123456789012/vpc-1/i-1" },
  },
  spec: {
    providerID: "aws:///eu-central-1a/i-1",
    taints: [
      { key: "example.com/other", effect: "NoSchedule" },
      { key: UNINITIALIZED_TAINT, effect: "NoSchedule" },
    ],
  },
  status: { conditions: [{ type: "Ready", status: "Unknown" }] },
};

/** The ConfigMap as read. */
export const STATE_OBJECT = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    namespace: "kube-system",
    name: "serverless-ccm",
    uid: "s-1",
    resourceVersion: "7",
    managedFields: [{ manager: "kubectl" }],
  },
};

/** The context after one node was sent to the node function. */
export const NODE_SENT: SentContext = {
  identity: "node",
  resource: NODES,
  objects: new Map([[0, NODE]]),
  relatedUids: new Set(["r-1"]),
  state: undefined,
  keys: { labelPrefixes: ["topology.k8s.aws/"], nodeKeys: ["oci.oraclecloud.com/compartment-id"] },
  deletion: DeletionSettings.parse({}),
  now: NOW,
};

/** The context after one node was sent to the node-lifecycle function, with the state. */
export const LIFECYCLE_SENT: SentContext = {
  ...NODE_SENT,
  identity: "node-lifecycle",
  state: { reference: STATE, read: { kind: "object", object: STATE_OBJECT } },
  count: { kind: "count", count: 10 },
};

/** The context after the deletion of the node was announced. */
export const ANNOUNCED_SENT: SentContext = {
  ...LIFECYCLE_SENT,
  state: {
    reference: STATE,
    read: {
      kind: "object",
      object: {
        ...STATE_OBJECT,
        data: buildConfigMapData({ ...createEmptyState(), deletions: { [NODE_UID]: buildDeletion() } }),
      },
    },
  },
};

/** The deletion in the state, with overrides. */
export function buildDeletion(difference: Partial<Deletion> = {}): Deletion {
  return { at: MOMENT.now, clock: MOMENT.clock, nodes: 10, counted: true, ...difference };
}

/** The context after one request was sent to the csr function. */
export const CSR_SENT: SentContext = {
  ...NODE_SENT,
  identity: "csr",
  resource: CERTIFICATE_SIGNING_REQUESTS,
  objects: new Map([[0, buildCsr({ metadata: { name: "csr-1", uid: "c-1" } })]]),
};
