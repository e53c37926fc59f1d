import type { Sent } from "#core/check-handed-back.ts";
import { INSTANCE_ANNOTATION, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { type Deletion, emptyState, STATE } from "#core/node-lifecycle/state.ts";
import { CERTIFICATE_SIGNING_REQUESTS, NODES } from "#core/resources/resource.ts";
import { DeletionSettings } from "#core/settings.ts";
import { csr } from "#test/core/csr/builders.ts";
import { dataOf } from "#test/core/node-lifecycle/world.ts";

export const NODE_UID = "n-1";

/** When the relay looks at what was handed back. */
export const NOW = new Date("2030-01-01T00:00:00.000Z");
export const MOMENT = { now: NOW.toISOString(), clock: "abc" };

/** Not Ready since it has its instance, with a taint of somebody else's and the uninitialized one. */
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

/** The ConfigMap as it was read. */
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

/** One node was sent to the node function. */
export const NODE_SENT: Sent = {
  identity: "node",
  resource: NODES,
  objects: new Map([[0, NODE]]),
  relatedUids: new Set(["r-1"]),
  state: undefined,
  keys: { labelPrefixes: ["topology.k8s.aws/"], nodeKeys: ["oci.oraclecloud.com/compartment-id"] },
  deletion: DeletionSettings.parse({}),
  now: NOW,
};

/** One node was sent to the node-lifecycle function, with the state. */
export const LIFECYCLE_SENT: Sent = {
  ...NODE_SENT,
  identity: "node-lifecycle",
  state: { reference: STATE, read: { kind: "object", object: STATE_OBJECT } },
  count: { kind: "count", count: 10 },
};

/** The same after the deletion of the node was announced. */
export const ANNOUNCED_SENT: Sent = {
  ...LIFECYCLE_SENT,
  state: {
    reference: STATE,
    read: {
      kind: "object",
      object: {
        ...STATE_OBJECT,
        data: dataOf({ ...emptyState(), deletions: { [NODE_UID]: deletion() } }),
      },
    },
  },
};

/** As the state has it, with the difference. */
export function deletion(difference: Partial<Deletion> = {}): Deletion {
  return { at: MOMENT.now, clock: MOMENT.clock, nodes: 10, counted: true, ...difference };
}

/** One request was sent to the csr function. */
export const CSR_SENT: Sent = {
  ...NODE_SENT,
  identity: "csr",
  resource: CERTIFICATE_SIGNING_REQUESTS,
  objects: new Map([[0, csr({ metadata: { name: "csr-1", uid: "c-1" } })]]),
};
