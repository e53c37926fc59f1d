import { expect, test } from "vitest";
import {
  checkResourceOwnership,
  hasLostOwner,
  type Ownership,
  type OwnershipFacts,
} from "#clouds/aws/ownership.ts";

const VPC = "vpc-1";
const TAG = { Key: "kubernetes.io/cluster/demo", Value: "owned" };
const OTHER = { Key: "kubernetes.io/cluster/other", Value: "owned" };
const LEGACY_OTHER = { Key: "KubernetesCluster", Value: "other" };
const both: Ownership = { vpc: VPC, clusterTag: "demo", clusterName: "a-name" };
const byVpc: Ownership = { vpc: VPC, clusterName: "demo" };

test.each<[string, Ownership, OwnershipFacts]>([
  ["in the VPC, tagged", both, { vpc: VPC, tags: [TAG] }],
  ["tagged shared", both, { vpc: VPC, tags: [{ ...TAG, Value: "shared" }] }],
  ["tagged with an empty value", both, { vpc: VPC, tags: [{ ...TAG, Value: "" }] }],
  ["with the legacy tag", both, { vpc: VPC, tags: [{ Key: "KubernetesCluster", Value: "demo" }] }],
  ["in the VPC, and no tag required", { vpc: VPC }, { vpc: VPC, tags: undefined }],
  ["in the VPC, without a cluster's tag", byVpc, { vpc: VPC, tags: [{ Key: "Name", Value: "other" }] }],
  ["in the VPC, tagged with the cluster's name", byVpc, { vpc: VPC, tags: [TAG] }],
  [
    "in the VPC, with the legacy tag of the cluster's name",
    byVpc,
    { vpc: VPC, tags: [{ Key: "KubernetesCluster", Value: "demo" }] },
  ],
  ["in the VPC, shared with another cluster", byVpc, { vpc: VPC, tags: [OTHER, TAG] }],
  ["shared with another cluster, the tag required", both, { vpc: VPC, tags: [OTHER, TAG] }],
  ["terminated, without VPC and tags", byVpc, { vpc: undefined, tags: [], isTerminated: true }],
  ["tagged, and no VPC required", { clusterTag: "demo" }, { vpc: "vpc-2", tags: [TAG] }],
  ["terminated, tagged, without a VPC", both, { vpc: undefined, tags: [TAG], isTerminated: true }],
])("%s: belongs to the cluster", (_, ownership, belongings) => {
  expect(checkResourceOwnership(ownership, belongings)).toBeUndefined();
});

test.each<[string, Ownership, OwnershipFacts, string]>([
  ["another VPC", { vpc: VPC }, { vpc: "vpc-2", tags: [] }, "expected VPC vpc-1, found vpc-2"],
  ["no VPC", { vpc: VPC }, { vpc: undefined, tags: [] }, "expected VPC vpc-1, found none"],
  ["terminated in another VPC", { vpc: VPC }, { vpc: "vpc-2", tags: [], isTerminated: true }, "found vpc-2"],
  [
    "no tags",
    both,
    { vpc: VPC, tags: undefined },
    "expected tag kubernetes.io/cluster/demo, found no cluster's tag",
  ],
  [
    "another cluster's tag",
    both,
    { vpc: VPC, tags: [{ Key: "kubernetes.io/cluster/demo-2", Value: "owned" }] },
    "found kubernetes.io/cluster/demo-2",
  ],
  [
    "another cluster's legacy tag",
    both,
    { vpc: VPC, tags: [{ Key: "KubernetesCluster", Value: "other" }] },
    "found KubernetesCluster=other",
  ],
  [
    "another cluster's tag in our VPC, no tag required",
    byVpc,
    { vpc: VPC, tags: [OTHER] },
    "expected tag kubernetes.io/cluster/demo, found kubernetes.io/cluster/other: if that is this cluster, set clusterTag",
  ],
  [
    "another cluster's legacy tag in our VPC",
    byVpc,
    { vpc: VPC, tags: [LEGACY_OTHER] },
    "expected tag kubernetes.io/cluster/demo, found KubernetesCluster=other: if that is this cluster, set clusterTag",
  ],
  [
    "any cluster's tag, for a cluster without a name",
    { vpc: VPC },
    { vpc: VPC, tags: [OTHER] },
    "expected no cluster's tag, found kubernetes.io/cluster/other: if that is this cluster, set clusterTag",
  ],
  [
    "the cluster's name as tag, with another tag required",
    both,
    { vpc: VPC, tags: [{ Key: "kubernetes.io/cluster/a-name", Value: "owned" }] },
    "expected tag kubernetes.io/cluster/demo, found kubernetes.io/cluster/a-name",
  ],
  [
    "terminated, another cluster's tag",
    byVpc,
    { vpc: undefined, tags: [OTHER], isTerminated: true },
    "found kubernetes.io/cluster/other",
  ],
  [
    "another VPC and no tag",
    both,
    { vpc: "vpc-2", tags: [] },
    "expected VPC vpc-1, found vpc-2; expected tag",
  ],
])("%s: does not belong to the cluster, with a reason", (_, ownership, belongings, because) => {
  expect(checkResourceOwnership(ownership, belongings)).toContain(because);
});

test.each<[string, Ownership, OwnershipFacts, boolean]>([
  ["no VPC and no tags", { vpc: VPC }, { vpc: undefined, tags: [], isTerminated: true }, true],
  ["another cluster's tag", { vpc: VPC }, { vpc: undefined, tags: [OTHER], isTerminated: true }, true],
  [
    "the cluster's tag",
    { vpc: VPC, clusterTag: "demo" },
    { vpc: undefined, tags: [TAG], isTerminated: true },
    false,
  ],
  [
    "the tag of the cluster's name",
    { vpc: VPC, clusterName: "demo" },
    { vpc: undefined, tags: [TAG], isTerminated: true },
    false,
  ],
  ["the cluster's VPC", { vpc: VPC }, { vpc: VPC, tags: [], isTerminated: true }, false],
  ["no VPC, but running", { vpc: VPC }, { vpc: undefined, tags: undefined }, false],
])(
  "whether the ownership of a terminated instance is unknown: one with %s",
  (_, ownership, belongings, nobodys) => {
    expect(hasLostOwner(ownership, belongings)).toBe(nobodys);
  },
);
