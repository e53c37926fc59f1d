import { describe, expect, test } from "vitest";
import { parseNode, projectNode } from "#core/node/snapshot.ts";
import { buildInternalAddress, buildNode, LABEL_PREFIXES, TAINT } from "#test/core/node/builders.ts";

const WHOLE = {
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name: "node-a",
    uid: "uid-a",
    resourceVersion: "7",
    creationTimestamp: "2026-03-01T11:59:55Z",
    deletionTimestamp: "2026-03-01T12:59:55Z",
    labels: {
      "kubernetes.io/hostname": "node-a",
      "topology.kubernetes.io/zone": "z",
      "failure-domain.beta.kubernetes.io/zone": "z",
      "topology.k8s.aws/zone-id": "euc1-az2",
    },
    annotations: {
      "alpha.kubernetes.io/provided-node-ip": "10.0.0.1",
      "serverless-ccm.io/instance": "a/n/i",
      "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    },
    managedFields: [{ manager: "kubelet" }],
  },
  spec: {
    providerID: "aws:///z/i-1",
    podCIDRs: ["10.1.0.0/24"],
    podCIDR: "10.1.0.0/24",
    unschedulable: true,
    taints: [{ ...TAINT, timeAdded: "2026-03-01T11:59:56Z" }],
  },
  status: {
    addresses: [{ ...buildInternalAddress("10.0.0.1"), zone: "new in 1.99" }],
    conditions: [
      { type: "Ready", status: "True", reason: "KubeletReady", lastHeartbeatTime: "2026-03-01T12:00:00Z" },
      { type: "MemoryPressure", status: "False" },
      { type: "NetworkUnavailable", status: "False", message: "ok" },
    ],
    images: [{ names: ["registry.k8s.io/pause:3.10"] }],
  },
};

describe("a snapshot", () => {
  test("keeps what decisions read, taints and addresses verbatim, and nothing else", () => {
    expect(projectNode(parsed(WHOLE), LABEL_PREFIXES)).toEqual({
      metadata: {
        name: "node-a",
        uid: "uid-a",
        resourceVersion: "7",
        creationTimestamp: "2026-03-01T11:59:55Z",
        deletionTimestamp: "2026-03-01T12:59:55Z",
        labels: {
          "topology.kubernetes.io/zone": "z",
          "failure-domain.beta.kubernetes.io/zone": "z",
          "topology.k8s.aws/zone-id": "euc1-az2",
        },
        annotations: {
          "alpha.kubernetes.io/provided-node-ip": "10.0.0.1",
          "serverless-ccm.io/instance": "a/n/i",
        },
      },
      spec: {
        providerID: "aws:///z/i-1",
        podCIDRs: ["10.1.0.0/24"],
        taints: [{ ...TAINT, timeAdded: "2026-03-01T11:59:56Z" }],
      },
      status: {
        addresses: [{ ...buildInternalAddress("10.0.0.1"), zone: "new in 1.99" }],
        conditions: [
          { type: "Ready", status: "True", reason: "KubeletReady" },
          { type: "NetworkUnavailable", status: "False" },
        ],
      },
    });
  });

  test("of a snapshot is itself", () => {
    const snapshot = projectNode(parsed(WHOLE), LABEL_PREFIXES);
    expect(projectNode(parsed(snapshot), LABEL_PREFIXES)).toEqual(snapshot);
  });

  test("keeps the labels and annotations by which the cloud identifies a node", () => {
    const metadata = {
      ...parsed(WHOLE).metadata,
      labels: { "example.com/ip": "a", "example.com/other": "b" },
      annotations: { "example.com/ip": "c", "example.com/other": "d" },
    };
    expect(projectNode({ ...parsed(WHOLE), metadata }, [], ["example.com/ip"]).metadata).toMatchObject({
      labels: { "example.com/ip": "a" },
      annotations: { "example.com/ip": "c" },
    });
  });

  test("distinguishes an emptied map from an absent one", () => {
    const labelled = buildNode({ metadata: { labels: { a: "b" }, annotations: { c: "d" } } });
    expect(projectNode(labelled, LABEL_PREFIXES).metadata).toMatchObject({ labels: {}, annotations: {} });
    const { labels: _, annotations: __, ...bare } = labelled.metadata;
    expect(Object.keys(projectNode({ ...labelled, metadata: bare }, LABEL_PREFIXES).metadata)).toEqual(
      Object.keys(bare),
    );
  });

  test("of a node with metadata only has no empty lists", () => {
    const bare = { metadata: { name: "a", uid: "u", resourceVersion: "1", creationTimestamp: "t" } };
    expect(projectNode(parsed(bare), LABEL_PREFIXES)).toEqual({ ...bare, spec: {}, status: {} });
  });
});

describe("an invalid node is malformed:", () => {
  test.each([
    ["null", null, {}, [""]],
    ["a list", [], {}, [""]],
    ["no metadata", {}, {}, ["metadata"]],
    ["no name", { metadata: { ...WHOLE.metadata, name: undefined } }, { uid: "uid-a" }, ["metadata.name"]],
    ["an invalid UID", { metadata: { ...WHOLE.metadata, uid: 7 } }, { name: "node-a" }, ["metadata.uid"]],
    [
      "an invalid taint",
      { ...WHOLE, spec: { taints: [TAINT, { effect: "NoSchedule" }] } },
      { name: "node-a", uid: "uid-a" },
      ["spec.taints[1].key"],
    ],
    [
      "a name that is too long",
      { metadata: { ...WHOLE.metadata, name: "n".repeat(254) } },
      { uid: "uid-a" },
      ["metadata.name"],
    ],
  ])("%s", (_, value, identity, paths) => {
    const { kind, faults, ...rest } = malformed(value);
    expect({ kind, rest, paths: faults.map(({ path }) => path) }).toEqual({
      kind: "malformed",
      rest: identity,
      paths,
    });
  });
});

function parsed(value: unknown) {
  const result = parseNode(value);
  if (result.kind !== "object") throw new Error(JSON.stringify(result.faults));
  return result.object;
}

function malformed(value: unknown) {
  const result = parseNode(value);
  if (result.kind !== "malformed") throw new Error("it is a node");
  return result;
}

test("a null time of a condition, as the API server shows an unset one, counts as absent", () => {
  const written = buildNode({ status: { conditions: [{ type: "Ready", status: "False" }] } });
  const conditions = [{ type: "Ready", status: "False", lastTransitionTime: null }];
  const parsed = parseNode({ ...written, status: { conditions } });
  expect(parsed).toEqual({ kind: "object", object: written });
});
