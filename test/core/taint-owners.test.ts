import { expect, test } from "vitest";
import { findTaintOwner, type TaintOwner } from "#core/taint-owners.ts";

const CONDITION = "the kubelet, by kube-controller-manager";

test.each<[string, TaintOwner["kind"], string]>([
  ["node.cloudprovider.kubernetes.io/uninitialized", "ours", "serverless-ccm"],
  ["node.cloudprovider.kubernetes.io/shutdown", "ours", "serverless-ccm"],
  ["node.kubernetes.io/not-ready", "others", CONDITION],
  ["node.kubernetes.io/unreachable", "others", CONDITION],
  ["node.kubernetes.io/network-unavailable", "others", CONDITION],
  ["node.kubernetes.io/memory-pressure", "others", CONDITION],
  ["node.kubernetes.io/unschedulable", "others", "kube-controller-manager"],
  ["node.kubernetes.io/out-of-service", "others", "an administrator"],
  ["node.cilium.io/agent-not-ready", "others", "Cilium"],
  ["karpenter.sh/unregistered", "others", "Karpenter"],
  ["karpenter.sh/disrupted", "others", "Karpenter"],
  ["node.cluster.x-k8s.io/uninitialized", "others", "Cluster API"],
  ["ToBeDeletedByClusterAutoscaler", "others", "cluster-autoscaler"],
  ["DeletionCandidateOfClusterAutoscaler", "others", "cluster-autoscaler"],
  ["startup-taint.cluster-autoscaler.kubernetes.io/driver", "others", "who set up the node"],
  ["ebs.csi.aws.com/agent-not-ready", "others", "an AWS CSI driver"],
  ["aws-node-termination-handler/spot-itn", "others", "the AWS node termination handler"],
  ["node.aws.com/anything", "others", "AWS"],
  ["nvidia.com/gpu", "others", "who set up the node, for NVIDIA GPUs"],
  ["nvidia.com/gpu-driver-upgrade-state", "others", "a GPU operator or driver"],
  ["storage.example.com/agent-not-ready", "others", "the agent that the key names"],
  ["example.com/dedicated", "unknown", "unknown"],
  ["node.cloudprovider.kubernetes.io/uninitialized2", "unknown", "unknown"],
  ["constructor", "unknown", "unknown"],
  ["", "unknown", "unknown"],
])("%s is %s: %s", (key, kind, owner) => {
  expect(findTaintOwner(key)).toMatchObject({ kind, owner });
});

test("each taint has a cause and a remedy", () => {
  for (const key of ["node.kubernetes.io/not-ready", "karpenter.sh/disrupted", "example.com/dedicated"]) {
    const { means, remedy } = findTaintOwner(key);
    expect([means, remedy].every((text) => text.length > 10)).toBe(true);
  }
});
