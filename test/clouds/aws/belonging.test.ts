import { expect, test } from "vitest";
import { type Belongings, foreignBecause, type Ownership } from "#clouds/aws/belonging.ts";

const VPC = "vpc-1";
const TAG = { Key: "kubernetes.io/cluster/demo", Value: "owned" };
const both: Ownership = { vpc: VPC, clusterTag: "demo" };

test.each<[string, Ownership, Belongings]>([
  ["in the VPC, tagged", both, { vpc: VPC, tags: [TAG] }],
  ["tagged shared", both, { vpc: VPC, tags: [{ ...TAG, Value: "shared" }] }],
  ["tagged with an empty value", both, { vpc: VPC, tags: [{ ...TAG, Value: "" }] }],
  ["tagged the legacy way", both, { vpc: VPC, tags: [{ Key: "KubernetesCluster", Value: "demo" }] }],
  ["in the VPC, and no tag asked for", { vpc: VPC }, { vpc: VPC, tags: undefined }],
  ["tagged, and no VPC asked for", { clusterTag: "demo" }, { vpc: "vpc-2", tags: [TAG] }],
  ["terminated, its VPC forgotten", both, { vpc: undefined, tags: [TAG], terminated: true }],
])("%s: the cluster's", (_, ownership, belongings) => {
  expect(foreignBecause(ownership, belongings)).toBeUndefined();
});

test.each<[string, Ownership, Belongings, string]>([
  ["another VPC", { vpc: VPC }, { vpc: "vpc-2", tags: [] }, "expected VPC vpc-1, found vpc-2"],
  ["no VPC", { vpc: VPC }, { vpc: undefined, tags: [] }, "expected VPC vpc-1, found none"],
  ["terminated in another VPC", { vpc: VPC }, { vpc: "vpc-2", tags: [], terminated: true }, "found vpc-2"],
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
  ["nothing right", both, { vpc: "vpc-2", tags: [] }, "expected VPC vpc-1, found vpc-2; expected tag"],
])("%s: not the cluster's, and why", (_, ownership, belongings, because) => {
  expect(foreignBecause(ownership, belongings)).toContain(because);
});
