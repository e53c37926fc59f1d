import type { Sent } from "#core/check-handed-back.ts";
import { STATE } from "#core/node-lifecycle/state.ts";
import { CERTIFICATE_SIGNING_REQUESTS, NODES } from "#core/resources/resource.ts";

export const NODE_UID = "n-1";

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
  objects: new Map([[0, { metadata: { name: "node-1", uid: NODE_UID } }]]),
  relatedUids: new Set(["r-1"]),
  state: undefined,
};

/** One node was sent to the node-lifecycle function, with the state. */
export const LIFECYCLE_SENT: Sent = {
  ...NODE_SENT,
  identity: "node-lifecycle",
  state: { reference: STATE, read: { kind: "object", object: STATE_OBJECT } },
};

/** One request was sent to the csr function. */
export const CSR_SENT: Sent = {
  ...NODE_SENT,
  identity: "csr",
  resource: CERTIFICATE_SIGNING_REQUESTS,
  objects: new Map([[0, { metadata: { name: "csr-1", uid: "c-1" } }]]),
};
