import { expect, test } from "vitest";
import {
  type AllowedResources,
  checkOwnership,
  isAllowed,
  isEligibleSubnet,
  isNameableSubnet,
  isNodeSecurityGroup,
  isOwned,
  isOwnLoadBalancer,
  type OwnershipMode,
} from "#clouds/aws/load-balancers/ownership.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import { checkResourceOwnership } from "#clouds/aws/ownership.ts";

const NOTHING: AllowedResources = {
  securityGroups: [],
  subnets: [],
  elasticIPs: [],
  certificates: [],
  buckets: [],
  nodeSecurityGroups: [],
};

test.each<[string, Record<string, string>, AllowedResources["subnets"], boolean]>([
  ["the cluster's own is allowed", { "kubernetes.io/cluster/demo": "owned" }, [], true],
  [
    "a shared one is allowed",
    { "kubernetes.io/cluster/demo": "shared", "kubernetes.io/cluster/b": "shared" },
    [],
    true,
  ],
  ["the cluster's own by the legacy tag is allowed", { KubernetesCluster: "demo" }, [], true],
  ["another cluster's by the legacy tag is not allowed", { KubernetesCluster: "theirs" }, [], false],
  ["another cluster's is not allowed", { "kubernetes.io/cluster/theirs": "owned" }, [], false],
  [
    "one of a cluster with a similar name is not allowed",
    { "kubernetes.io/cluster/demo2": "owned" },
    [],
    false,
  ],
  ["one without an owner is not allowed", {}, [], false],
  ["one with an allowed ID is allowed", {}, ["id-2", "id-1"], true],
  ["one whose ID only begins like an allowed one is not allowed", {}, ["id"], false],
  ["one whose ID matches an allowed prefix is allowed", {}, ["id-*"], true],
  ["one with an allowed tag is allowed", { team: "a" }, [{ tag: "team", value: "a" }], true],
  [
    "one with another value of an allowed tag is not allowed",
    { team: "b" },
    [{ tag: "team", value: "a" }],
    false,
  ],
  ["one with any value of an allowed tag key is allowed", { team: "b" }, [{ tag: "team" }], true],
  ["one without the allowed tag is not allowed", { other: "b" }, [{ tag: "team" }], false],
])("a resource of others may be used: %s", (_, tags, subnets, expected) => {
  const who = { clusterTag: "demo", allow: { ...NOTHING, subnets } };
  expect(isAllowed("subnets", { id: "id-1", tags }, who)).toBe(expected);
  expect(isAllowed("buckets", { id: "id-1", tags: {} }, who)).toBe(false);
});

test.each([
  ["owned", { "kubernetes.io/cluster/demo": "owned" }, true],
  ["shared", { "kubernetes.io/cluster/demo": "shared" }, false],
  ["another's", { "kubernetes.io/cluster/theirs": "owned" }, false],
  ["of the legacy tag alone", { KubernetesCluster: "demo" }, false],
])("only owned resources are changed and deleted: %s", (_, tags, expected) => {
  expect(isOwned(tags, "demo")).toBe(expected);
});

const MODES = [
  ["vpc", { vpc: "vpc-1" }],
  ["clusterTag", { clusterTag: "demo" }],
  ["both", { vpc: "vpc-1", clusterTag: "demo" }],
] as const satisfies readonly (readonly [string, OwnershipMode])[];

const TAGS = {
  own: { "kubernetes.io/cluster/demo": "owned", "kubernetes.io/service-name": "default/web" },
  "another Service's": { "kubernetes.io/cluster/demo": "owned", "kubernetes.io/service-name": "default/api" },
  shared: { "kubernetes.io/cluster/demo": "shared" },
  "shared with another": { "kubernetes.io/cluster/demo": "shared", "kubernetes.io/cluster/theirs": "owned" },
  legacy: { KubernetesCluster: "demo" },
  none: { Name: "web" },
  "another's": { "kubernetes.io/cluster/theirs": "owned", "kubernetes.io/service-name": "default/web" },
  "another's legacy": { KubernetesCluster: "theirs" },
} as const satisfies Readonly<Record<string, Pairs>>;
type TagState = keyof typeof TAGS;

const OWNER = {
  namespace: "default",
  name: "web",
  uid: "3f0e6a52-8d1b-4c7e-9a44-0b1c2d3e4f50",
  clusterTag: "demo",
};
const IDENTITY = { clusterTag: "demo", allow: NOTHING };
const OWNED: readonly TagState[] = ["own", "another Service's", "legacy"];
const TAGGED: readonly TagState[] = ["own", "another Service's", "shared", "shared with another", "legacy"];
const subnetIdentity = (mode: OwnershipMode) => ({
  ...IDENTITY,
  isVpcConfigured: mode.vpc !== undefined,
  fallbackId: undefined,
  attachedIds: [],
});

/** The resources that may be changed or used, by the state of their tags and by mode. */
const OBJECTS: readonly {
  readonly object: string;
  readonly isOurs: (tags: Pairs, mode: OwnershipMode) => boolean;
  readonly always: readonly TagState[];
  readonly alsoWith?: { readonly [Mode in (typeof MODES)[number][0]]?: readonly TagState[] };
}[] = [
  {
    object: "a load balancer in the configured VPC is changed and deleted",
    isOurs: (tags, mode) => isOwnLoadBalancer({ tags, vpc: "vpc-1" }, OWNER, mode),
    always: OWNED,
    alsoWith: { vpc: ["none"] },
  },
  {
    object: "a load balancer in another VPC is changed and deleted",
    isOurs: (tags, mode) => isOwnLoadBalancer({ tags, vpc: "vpc-2" }, OWNER, mode),
    always: OWNED,
  },
  {
    object: "a load balancer of an invented uid is changed and deleted",
    isOurs: (tags, mode) =>
      isOwnLoadBalancer({ tags, vpc: "vpc-1" }, { ...OWNER, uid: "pp-production" }, mode),
    always: OWNED,
  },
  {
    object: "a target group is changed and deleted",
    isOurs: (tags) => checkOwnership(tags, OWNER) === "service",
    always: ["own"],
  },
  {
    object: "a security group of a load balancer is changed and deleted",
    isOurs: (tags) => isOwned(tags, "demo"),
    always: ["own", "another Service's"],
  },
  {
    object: "a security group of nodes has rules changed",
    isOurs: (tags) => isNodeSecurityGroup({ id: "sg-1", tags }, IDENTITY),
    always: TAGGED,
  },
  {
    object: "a security group that only the cluster's instances have has rules changed",
    isOurs: (tags) => isNodeSecurityGroup({ id: "sg-1", tags, isOnNodesAlone: true }, IDENTITY),
    always: [...TAGGED, "none"],
  },
  {
    object: "a listed security group of nodes has rules changed",
    isOurs: (tags) =>
      isNodeSecurityGroup(
        { id: "sg-1", tags },
        { ...IDENTITY, allow: { ...NOTHING, nodeSecurityGroups: ["sg-1"] } },
      ),
    always: Object.keys(TAGS) as TagState[],
  },
  {
    object: "a security group that is listed for nodes is named by an annotation",
    isOurs: (tags) => {
      const allow = { ...NOTHING, nodeSecurityGroups: ["sg-1"] };
      return isAllowed("securityGroups", { id: "sg-1", tags }, { ...IDENTITY, allow });
    },
    always: TAGGED,
  },
  {
    object: "a subnet is named by an annotation",
    isOurs: (tags, mode) => isNameableSubnet({ id: "subnet-1", tags }, subnetIdentity(mode)),
    always: TAGGED,
  },
  {
    object: "a subnet is selected without an annotation",
    isOurs: (tags, mode) => isEligibleSubnet({ id: "subnet-1", tags }, subnetIdentity(mode)),
    always: TAGGED,
    alsoWith: { vpc: ["none"], both: ["none"] },
  },
  {
    object: "an Elastic IP is named by an annotation",
    isOurs: (tags) => isAllowed("elasticIPs", { id: "eipalloc-1", tags }, IDENTITY),
    always: TAGGED,
  },
  {
    object: "an instance of the VPC is a target",
    isOurs: (tags, mode) => {
      const list = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
      return (
        checkResourceOwnership({ ...mode, clusterName: "demo" }, { vpc: "vpc-1", tags: list }) === undefined
      );
    },
    always: TAGGED,
    alsoWith: { vpc: ["none"] },
  },
];

const ROWS = OBJECTS.flatMap(({ object, isOurs, always, alsoWith = {} }) =>
  MODES.flatMap(([name, mode]) =>
    (Object.keys(TAGS) as TagState[]).map((state) => ({
      ...{ object, isOurs, name, mode, state },
      expected: always.includes(state) || alsoWith[name]?.includes(state) === true,
    })),
  ),
);

test.each(ROWS)(
  "$object with tags: $state, configured by $name: $expected",
  ({ isOurs, mode, state, expected }) => {
    expect(isOurs(TAGS[state], mode)).toBe(expected);
  },
);
