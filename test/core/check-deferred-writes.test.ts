import { describe, expect, test } from "vitest";
import { checkDeferredWrites, type SentContext } from "#core/check-deferred-writes.ts";
import { buildClusterEvent } from "#core/cluster-events.ts";
import { createEmptyState } from "#core/node-lifecycle/state.ts";
import { type DeferredWrites, DeferredWrites as Schema } from "#core/report.ts";
import {
  ANNOUNCED_SENT,
  CSR_SENT,
  buildDeletion as deletionOf,
  LIFECYCLE_SENT,
  MOMENT,
  NODE_SENT,
  NODE_UID,
  STATE_OBJECT,
} from "#test/core/deferred-writes.ts";

const REFERENCE = { apiVersion: "v1", kind: "Node", name: "node-1", uid: NODE_UID };
const BECAUSE = { code: "Initialized", message: "" };
const LABEL = "topology.kubernetes.io~1zone";
const ADDRESSES = { op: "add", path: "/status/addresses", value: [] };
const UID_TEST = { op: "test", path: "/metadata/uid", value: NODE_UID };

const CONDITION = {
  ...{ type: "Approved", status: "True", reason: "InstanceVerified", message: "" },
  lastUpdateTime: "2030-01-01T00:00:00Z",
};

const patch = (difference: Record<string, unknown> = {}) => ({
  on: "cluster",
  apiVersion: "v1",
  resource: "nodes",
  name: "node-1",
  verb: "patch",
  precondition: [UID_TEST],
  patch: [{ op: "add", path: `/metadata/labels/${LABEL}`, value: "b" }],
  ...difference,
});
const { patch: _, ...bare } = patch();
const deletion = { ...bare, verb: "delete", precondition: { uid: NODE_UID, resourceVersion: "5" } };
const action = {
  ...{ on: "cloud", capability: "loadBalancers", action: "delete", target: "a", parameters: {} },
  precondition: { uid: NODE_UID, deleting: false },
};
const event = (uid: string) => ({
  ...buildClusterEvent("Synced", "Initialized", {}),
  about: { ...REFERENCE, uid },
});

const change = (writes: readonly unknown[], difference: Record<string, unknown> = {}) => ({
  ...{ kind: "change", object: REFERENCE, because: BECAUSE, writes, events: [], warnings: [] },
  ...difference,
});

/** In the form that the schema accepts, so that the schema rejects no case. */
function decisions(...items: readonly { index: number; decision: unknown }[]): DeferredWrites {
  return Schema.parse({ moment: MOMENT, next: { kind: "decisions", items } });
}
const one = (decision: unknown, index = 0) => decisions({ index, decision });

const STATE_WRITE = {
  ...{
    on: "cluster",
    apiVersion: "v1",
    resource: "configmaps",
    namespace: "kube-system",
    name: "serverless-ccm",
  },
  precondition: { uid: STATE_OBJECT.metadata.uid, resourceVersion: STATE_OBJECT.metadata.resourceVersion },
};

function sharedWrite(write: unknown): DeferredWrites {
  return Schema.parse({ moment: MOMENT, next: { kind: "shared", because: BECAUSE, write } });
}

function shared(difference: Record<string, unknown> = {}): DeferredWrites {
  const metadata = { ...STATE_OBJECT.metadata, managedFields: undefined };
  const body = { ...STATE_OBJECT, metadata, data: { state: JSON.stringify(createEmptyState()) } };
  return sharedWrite({ ...STATE_WRITE, verb: "update", body, ...difference });
}

function read(name: string, resource = "configmaps", counted?: string): DeferredWrites {
  const state = { apiVersion: "v1", name: resource, at: { namespace: "kube-system", name } };
  const count = counted === undefined ? {} : { counted: { apiVersion: "v1", name: counted } };
  return Schema.parse({ moment: MOMENT, next: { kind: "read", state, ...count } });
}

describe("checkDeferredWrites accepts", () => {
  const csr = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    name: "csr-1",
    uid: "c-1",
  };
  const approval = {
    ...{ on: "cluster", apiVersion: csr.apiVersion, resource: "certificatesigningrequests", name: "csr-1" },
    verb: "approve",
    precondition: [
      { op: "test", path: "/metadata/uid", value: "c-1" },
      { op: "test", path: "/status/conditions", value: null },
    ],
    patch: [{ op: "add", path: "/status/conditions", value: [CONDITION] }],
  };
  test.each<[string, DeferredWrites, SentContext]>([
    ["a patch of a node", one(change([patch()])), NODE_SENT],
    [
      "a patch of a node's status",
      one(change([patch({ subresource: "status", patch: [ADDRESSES] })])),
      NODE_SENT,
    ],
    ["the deletion of a node that was announced", one(change([deletion])), ANNOUNCED_SENT],
    ["the approval of a CSR", one({ ...change([approval]), object: csr }), CSR_SENT],
    ["an Event about the node itself", one(change([patch()], { events: [event(NODE_UID)] })), NODE_SENT],
    ["an Event about a related object", one(change([patch()], { events: [event("r-1")] })), NODE_SENT],
    ["a decision without writes", one({ kind: "unchanged", object: REFERENCE, because: BECAUSE }), NODE_SENT],
    ["an update of the deletion state", shared(), LIFECYCLE_SENT],
    ["a request to read the deletion state", read("serverless-ccm"), LIFECYCLE_SENT],
    [
      "a request to read the deletion state and to count nodes",
      read("serverless-ccm", "configmaps", "nodes"),
      LIFECYCLE_SENT,
    ],
  ])("%s", (_, handedBack, sent) => {
    expect(checkDeferredWrites(handedBack, sent)).toBeUndefined();
  });
});

describe("checkDeferredWrites rejects", () => {
  const other = { ...REFERENCE, name: "node-2" };
  const large = patch({ patch: [{ op: "add", path: "/metadata/labels/a", value: "b".repeat(70_000) }] });
  test.each<[string, DeferredWrites, SentContext, string]>([
    [
      "a decision on an object that was not sent",
      one(change([patch()]), 7),
      NODE_SENT,
      "decision 7 is on no object that was sent",
    ],
    [
      "two decisions on one object",
      decisions({ index: 0, decision: change([patch()]) }, { index: 0, decision: change([patch()]) }),
      NODE_SENT,
      "stands there twice",
    ],
    [
      "a decision about another object",
      one(change([patch()], { object: other })),
      NODE_SENT,
      "about another object",
    ],
    [
      "a decision about an object with the same name and another UID",
      one(change([patch()], { object: { ...REFERENCE, uid: "x" } })),
      NODE_SENT,
      "another object",
    ],
    [
      "a write to another object",
      one(change([patch({ name: "node-2" })])),
      NODE_SENT,
      "another object was sent",
    ],
    [
      "a write to another resource",
      one(change([patch({ resource: "pods" })])),
      NODE_SENT,
      "another object was sent",
    ],
    [
      "a write to a namespace, for a cluster-scoped object",
      one(change([patch({ namespace: "default" })])),
      NODE_SENT,
      "patch of nodes default/node-1, and another object was sent",
    ],
    [
      "a verb that only another function may use",
      one(change([deletion])),
      NODE_SENT,
      "delete of nodes node-1, which node may not do",
    ],
    [
      "a subresource that only another function may write",
      one(change([patch({ subresource: "proxy" })])),
      NODE_SENT,
      "which node may not do",
    ],
    [
      "the creation of an object",
      one(change([{ ...bare, verb: "create", body: {}, precondition: { absent: true } }])),
      NODE_SENT,
      "which is no decision on it",
    ],
    [
      "a patch that does not test the UID",
      one(change([patch({ precondition: [{ ...UID_TEST, path: "/kind" }] })])),
      NODE_SENT,
      "life",
    ],
    [
      "a patch that tests another UID",
      one(change([patch({ precondition: [{ ...UID_TEST, value: "x" }] })])),
      NODE_SENT,
      "life",
    ],
    [
      "a deletion with another UID as precondition",
      one(change([{ ...deletion, precondition: { uid: "x" } }])),
      LIFECYCLE_SENT,
      "life",
    ],
    [
      "a deletion that was not announced",
      one(change([deletion])),
      LIFECYCLE_SENT,
      "delete of nodes node-1, which nothing has announced in data.state of configmaps kube-system/serverless-ccm",
    ],
    [
      "a patch of a field that belongs to another controller",
      one(change([patch({ patch: [{ op: "add", path: "/spec/unschedulable", value: true }] })])),
      NODE_SENT,
      "decision 0 is a patch of nodes node-1 that writes /spec/unschedulable, which node does not write so",
    ],
    [
      "a patch of finalizers by node-lifecycle, which may write only taints",
      one(change([patch({ patch: [{ op: "add", path: "/metadata/finalizers", value: ["a/b"] }] })])),
      LIFECYCLE_SENT,
      "patch of nodes node-1 that writes /metadata/finalizers, which node-lifecycle does not write so",
    ],
    [
      "a state that announces the deletion of a node that was not sent",
      shared({
        body: {
          ...STATE_OBJECT,
          data: { state: JSON.stringify({ ...createEmptyState(), deletions: { "n-2": deletionOf() } }) },
        },
      }),
      LIFECYCLE_SENT,
      "that announces the deletion of node n-2, which was not sent",
    ],
    [
      "a state ConfigMap with another data key",
      shared({ body: { ...STATE_OBJECT, data: { state: JSON.stringify(createEmptyState()), other: "a" } } }),
      LIFECYCLE_SENT,
      "changes more than its data.state",
    ],
    ["an action on the cloud", one(change([action])), NODE_SENT, "has the cloud changed"],
    [
      "more writes than the maximum of a decision",
      one(change(Array.from({ length: 9 }, () => patch()))),
      NODE_SENT,
      "has 9 writes",
    ],
    ["a decision above the maximum size", one(change([large])), NODE_SENT, "larger than any decision"],
    [
      "more Events than the maximum of a decision",
      one(change([patch()], { events: Array.from({ length: 17 }, () => event(NODE_UID)) })),
      NODE_SENT,
      "has 17 Events",
    ],
    [
      "an Event about an object that was not sent",
      one(change([patch()], { events: [event("x")] })),
      NODE_SENT,
      "was not sent",
    ],
    [
      "a deletion state by a controller that has no state",
      shared(),
      NODE_SENT,
      "the shared write is a update of configmaps kube-system/serverless-ccm, which node may not do",
    ],
    ["a write to another ConfigMap", shared({ name: "coredns" }), LIFECYCLE_SENT, "may not do"],
    [
      "the deletion of the state ConfigMap",
      sharedWrite({ ...STATE_WRITE, verb: "delete" }),
      LIFECYCLE_SENT,
      "may not do",
    ],
    [
      "a deletion state that was not read before",
      shared(),
      { ...LIFECYCLE_SENT, state: undefined },
      "nothing was read of it",
    ],
    [
      "a deletion state of which another ConfigMap was read",
      shared(),
      {
        ...LIFECYCLE_SENT,
        state: {
          reference: {
            apiVersion: "v1",
            name: "configmaps",
            at: { namespace: "kube-system", name: "another" },
          },
          read: { kind: "object", object: STATE_OBJECT },
        },
      },
      "another object was read",
    ],
    [
      "an update of a state with another resourceVersion than was read",
      shared({ precondition: { uid: "s-1", resourceVersion: "8" } }),
      LIFECYCLE_SENT,
      "not decided on",
    ],
    [
      "an update of a state with another UID than was read",
      shared({ precondition: { uid: "s-2", resourceVersion: "7" } }),
      LIFECYCLE_SENT,
      "not decided on",
    ],
    [
      "labels on the state ConfigMap",
      shared({ body: { ...STATE_OBJECT, metadata: { ...STATE_OBJECT.metadata, labels: { a: "b" } } } }),
      LIFECYCLE_SENT,
      "changes more than its data",
    ],
    [
      "another field of the state ConfigMap",
      shared({ body: { ...STATE_OBJECT, immutable: true } }),
      LIFECYCLE_SENT,
      "more than its data",
    ],
    [
      "a deletion state above the maximum size",
      shared({ body: { ...STATE_OBJECT, data: { state: "x".repeat(1_600_000) } } }),
      LIFECYCLE_SENT,
      "characters",
    ],
    [
      "a request to read another ConfigMap",
      read("coredns"),
      LIFECYCLE_SENT,
      "asks for configmaps kube-system/coredns",
    ],
    ["a request to read a Secret", read("serverless-ccm", "secrets"), LIFECYCLE_SENT, "asks for secrets"],
    [
      "a request to read a node, which the function could read in a list",
      read("node-1", "nodes"),
      LIFECYCLE_SENT,
      "asks for nodes",
    ],
    [
      "a request to count Secrets",
      read("serverless-ccm", "configmaps", "secrets"),
      LIFECYCLE_SENT,
      "asks for the number of secrets",
    ],
  ])("%s", (_, handedBack, sent, fault) => {
    expect(checkDeferredWrites(handedBack, sent)).toContain(fault);
  });
});
