import { expect, test } from "vitest";
import { type AllowedResources, isAllowed, isOwned } from "#clouds/aws/load-balancers/allowed.ts";

const NOTHING: AllowedResources = {
  securityGroups: [],
  subnets: [],
  elasticIPs: [],
  certificates: [],
  buckets: [],
};

test.each<[string, Record<string, string>, AllowedResources["subnets"], boolean]>([
  ["the cluster's own", { "kubernetes.io/cluster/demo": "owned" }, [], true],
  [
    "one that clusters share",
    { "kubernetes.io/cluster/demo": "shared", "kubernetes.io/cluster/b": "shared" },
    [],
    true,
  ],
  ["the cluster's own by the legacy tag", { KubernetesCluster: "demo" }, [], true],
  ["another cluster's by the legacy tag", { KubernetesCluster: "theirs" }, [], false],
  ["another cluster's", { "kubernetes.io/cluster/theirs": "owned" }, [], false],
  ["one of a cluster whose name begins alike", { "kubernetes.io/cluster/demo2": "owned" }, [], false],
  ["nobody's", {}, [], false],
  ["one that is allowed by id", {}, ["id-2", "id-1"], true],
  ["one whose id only begins like an allowed one", {}, ["id"], false],
  ["one whose id begins as allowed", {}, ["id-*"], true],
  ["one that is allowed by a tag", { team: "a" }, [{ tag: "team", value: "a" }], true],
  ["one with another value of the tag", { team: "b" }, [{ tag: "team", value: "a" }], false],
  ["one with any value of a tag", { team: "b" }, [{ tag: "team" }], true],
  ["one without the tag", { other: "b" }, [{ tag: "team" }], false],
])("%s", (_, tags, subnets, expected) => {
  const who = { clusterTag: "demo", allow: { ...NOTHING, subnets } };
  expect(isAllowed("subnets", { id: "id-1", tags }, who)).toBe(expected);
  expect(isAllowed("buckets", { id: "id-1", tags: {} }, who)).toBe(false);
});

test.each([
  ["owned", { "kubernetes.io/cluster/demo": "owned" }, true],
  ["shared", { "kubernetes.io/cluster/demo": "shared" }, false],
  ["another's", { "kubernetes.io/cluster/theirs": "owned" }, false],
  ["of the legacy tag alone", { KubernetesCluster: "demo" }, false],
])("what is changed and deleted is owned: %s", (_, tags, expected) => {
  expect(isOwned(tags, "demo")).toBe(expected);
});
