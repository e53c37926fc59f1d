import { describe, expect, test } from "vitest";
import { checkDeferredWrites, type SentContext } from "#core/check-deferred-writes.ts";
import { buildClusterEvent } from "#core/cluster-events.ts";
import { type DeferredWrites, DeferredWrites as Schema } from "#core/deferred-writes.ts";
import { createEmptyState } from "#core/node-lifecycle/state.ts";
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

describe("accepts deferred writes of this build", () => {
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
    ["a patch of its status", one(change([patch({ subresource: "status", patch: [ADDRESSES] })])), NODE_SENT],
    ["a deletion that was announced", one(change([deletion])), ANNOUNCED_SENT],
    ["an approval", one({ ...change([approval]), object: csr }), CSR_SENT],
    ["an Event about the node itself", one(change([patch()], { events: [event(NODE_UID)] })), NODE_SENT],
    ["an Event about a related object", one(change([patch()], { events: [event("r-1")] })), NODE_SENT],
    ["nothing to do", one({ kind: "unchanged", object: REFERENCE, because: BECAUSE }), NODE_SENT],
    ["a swap of the state", shared(), LIFECYCLE_SENT],
    ["a read of the state", read("serverless-ccm"), LIFECYCLE_SENT],
    [
      "a read of the state and of the number of nodes",
      read("serverless-ccm", "configmaps", "nodes"),
      LIFECYCLE_SENT,
    ],
  ])("%s", (_, handedBack, sent) => {
    expect(checkDeferredWrites(handedBack, sent)).toBeUndefined();
  });
});

describe("rejects deferred writes", () => {
  const other = { ...REFERENCE, name: "node-2" };
  const large = patch({ patch: [{ op: "add", path: "/metadata/labels/a", value: "b".repeat(70_000) }] });
  test.each<[string, DeferredWrites, SentContext, string]>([
    [
      "an object that was not sent",
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
    ["another object", one(change([patch()], { object: other })), NODE_SENT, "about another object"],
    [
      "another life of it",
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
      "one in a namespace",
      one(change([patch({ namespace: "default" })])),
      NODE_SENT,
      "patch of nodes default/node-1, and another object was sent",
    ],
    [
      "a verb of another function",
      one(change([deletion])),
      NODE_SENT,
      "delete of nodes node-1, which node may not do",
    ],
    [
      "a subresource of another",
      one(change([patch({ subresource: "proxy" })])),
      NODE_SENT,
      "which node may not do",
    ],
    [
      "a creation",
      one(change([{ ...bare, verb: "create", body: {}, precondition: { absent: true } }])),
      NODE_SENT,
      "which is no decision on it",
    ],
    [
      "no test of the uid",
      one(change([patch({ precondition: [{ ...UID_TEST, path: "/kind" }] })])),
      NODE_SENT,
      "life",
    ],
    [
      "a test of another uid",
      one(change([patch({ precondition: [{ ...UID_TEST, value: "x" }] })])),
      NODE_SENT,
      "life",
    ],
    [
      "a deletion of another uid",
      one(change([{ ...deletion, precondition: { uid: "x" } }])),
      LIFECYCLE_SENT,
      "life",
    ],
    [
      "a deletion that nothing has announced",
      one(change([deletion])),
      LIFECYCLE_SENT,
      "delete of nodes node-1, which nothing has announced in data.state of configmaps kube-system/serverless-ccm",
    ],
    [
      "a field that is another's",
      one(change([patch({ patch: [{ op: "add", path: "/spec/unschedulable", value: true }] })])),
      NODE_SENT,
      "decision 0 is a patch of nodes node-1 that writes /spec/unschedulable, which node does not write so",
    ],
    [
      "a finalizer by who writes taints",
      one(change([patch({ patch: [{ op: "add", path: "/metadata/finalizers", value: ["a/b"] }] })])),
      LIFECYCLE_SENT,
      "patch of nodes node-1 that writes /metadata/finalizers, which node-lifecycle does not write so",
    ],
    [
      "a deletion announced of a node that was not sent",
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
      "another key beside the state",
      shared({ body: { ...STATE_OBJECT, data: { state: JSON.stringify(createEmptyState()), other: "a" } } }),
      LIFECYCLE_SENT,
      "changes more than its data.state",
    ],
    ["the cloud", one(change([action])), NODE_SENT, "has the cloud changed"],
    [
      "more writes than any",
      one(change(Array.from({ length: 9 }, () => patch()))),
      NODE_SENT,
      "has 9 writes",
    ],
    ["a decision of any size", one(change([large])), NODE_SENT, "larger than any decision"],
    [
      "more Events than any",
      one(change([patch()], { events: Array.from({ length: 17 }, () => event(NODE_UID)) })),
      NODE_SENT,
      "has 17 Events",
    ],
    [
      "an Event about a stranger",
      one(change([patch()], { events: [event("x")] })),
      NODE_SENT,
      "was not sent",
    ],
    [
      "a state, by who has none",
      shared(),
      NODE_SENT,
      "the shared write is a update of configmaps kube-system/serverless-ccm, which node may not do",
    ],
    ["another ConfigMap", shared({ name: "coredns" }), LIFECYCLE_SENT, "may not do"],
    [
      "a deletion of the state",
      sharedWrite({ ...STATE_WRITE, verb: "delete" }),
      LIFECYCLE_SENT,
      "may not do",
    ],
    [
      "a state that was not read",
      shared(),
      { ...LIFECYCLE_SENT, state: undefined },
      "nothing was read of it",
    ],
    [
      "a state in the place of another",
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
      "a swap of another version",
      shared({ precondition: { uid: "s-1", resourceVersion: "8" } }),
      LIFECYCLE_SENT,
      "not decided on",
    ],
    [
      "a swap of another life",
      shared({ precondition: { uid: "s-2", resourceVersion: "7" } }),
      LIFECYCLE_SENT,
      "not decided on",
    ],
    [
      "labels of the state",
      shared({ body: { ...STATE_OBJECT, metadata: { ...STATE_OBJECT.metadata, labels: { a: "b" } } } }),
      LIFECYCLE_SENT,
      "changes more than its data",
    ],
    [
      "another key of it",
      shared({ body: { ...STATE_OBJECT, immutable: true } }),
      LIFECYCLE_SENT,
      "more than its data",
    ],
    [
      "a state of any size",
      shared({ body: { ...STATE_OBJECT, data: { state: "x".repeat(1_600_000) } } }),
      LIFECYCLE_SENT,
      "characters",
    ],
    [
      "a read of another ConfigMap",
      read("coredns"),
      LIFECYCLE_SENT,
      "asks for configmaps kube-system/coredns",
    ],
    ["a read of a Secret", read("serverless-ccm", "secrets"), LIFECYCLE_SENT, "asks for secrets"],
    ["a read of one that it could read among all", read("node-1", "nodes"), LIFECYCLE_SENT, "asks for nodes"],
    [
      "a count of Secrets",
      read("serverless-ccm", "configmaps", "secrets"),
      LIFECYCLE_SENT,
      "asks for the number of secrets",
    ],
  ])("%s", (_, handedBack, sent, fault) => {
    expect(checkDeferredWrites(handedBack, sent)).toContain(fault);
  });
});
