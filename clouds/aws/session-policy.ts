/**
 * How far the sessions of a cluster are narrowed. `strict`: to what carries the cluster's tag or is listed. `compatible`: the same, but for
 * what clusters were served without a tag before there was a policy. `none`: not at all.
 */
export const SESSION_POLICIES = ["strict", "compatible", "none"] as const;
export type SessionPolicyMode = (typeof SESSION_POLICIES)[number];

/** Whose work a session does: a deployed function's, or the look of `doctor`, which changes nothing. */
export const SESSION_PURPOSES = [
  "node",
  "node-lifecycle",
  "csr",
  "service",
  "route",
  "tagging",
  "ec2-events",
  "doctor",
] as const;
export type SessionPurpose = (typeof SESSION_PURPOSES)[number];

/** The part of `AwsCloudConfig`, and of the cluster, that its session policies are made of. */
export interface PolicyCluster {
  readonly vpc?: string | undefined;
  readonly clusterTag?: string | undefined;
  /** Stands in for `clusterTag` where that is not configured. */
  readonly clusterName?: string | undefined;
  readonly legacyClusterTag: boolean;
  readonly routeTableIDs?: readonly string[] | undefined;
  readonly sessionPolicy: SessionPolicyMode;
  readonly allow: {
    readonly nodeSecurityGroups?: readonly (
      | string
      | { readonly tag: string; readonly value?: string | undefined }
    )[];
  };
}

/** AWS takes no longer inline session policy, in characters. */
export const MAX_POLICY_LENGTH = 2_048;

/**
 * The inline session policy with which a role is assumed for one cluster and one purpose: whatever the role may, the session changes only
 * what carries the cluster's tag or what its configuration lists. Undefined where the configuration switches it off.
 */
export function sessionPolicy(cluster: PolicyCluster, purpose: SessionPurpose): string | undefined {
  if (cluster.sessionPolicy === "none") return undefined;
  return JSON.stringify({ Version: "2012-10-17", Statement: STATEMENTS[purpose](cluster) });
}

/** Why AWS would take a session policy of this cluster for none of its own; undefined where it takes all. */
export function sessionPolicyFault(cluster: PolicyCluster): string | undefined {
  for (const purpose of SESSION_PURPOSES) {
    const policy = sessionPolicy(cluster, purpose) ?? "";
    if (/[^\u0020-\u00ff]/.test(policy))
      return "clusterTag has characters that AWS takes in no session policy: rename it, or set sessionPolicy: none";
    if (policy.length > MAX_POLICY_LENGTH)
      return `the session policy of ${purpose} has ${policy.length} characters, and AWS takes ${MAX_POLICY_LENGTH}: ${SHORTEN}`;
  }
  return undefined;
}

const SHORTEN =
  "list less under routeTableIDs and allow.nodeSecurityGroups and tag these with kubernetes.io/cluster/<clusterTag>, or set sessionPolicy: none";

interface Statement {
  readonly Effect: "Allow";
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: Condition;
}
type Condition = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;

/** Actions that only describe know no resources. */
const reading = (...actions: readonly string[]): Statement => allow(actions, "*");

const STATEMENTS: Readonly<Record<SessionPurpose, (cluster: PolicyCluster) => readonly Statement[]>> = {
  node: () => [
    reading(
      "ec2:DescribeInstances",
      "ec2:DescribeAvailabilityZones",
      "ec2:DescribeInstanceTopology",
      "ec2:DescribeNetworkInterfaces",
    ),
  ],
  "node-lifecycle": () => [reading("ec2:DescribeInstances", "ec2:DescribeNetworkInterfaces")],
  csr: () => [reading("ec2:DescribeInstances", "ec2:DescribeNetworkInterfaces")],
  "ec2-events": () => [reading("ec2:DescribeInstances")],
  doctor: () => [reading("ec2:Describe*", "elasticloadbalancing:Describe*")],
  tagging: (cluster) => [
    reading("ec2:DescribeInstances"),
    ...onInstances(cluster, ["ec2:CreateTags", "ec2:DeleteTags"], NO_OWNERSHIP_TAGS),
  ],
  route: (cluster) => [
    reading("ec2:DescribeInstances", "ec2:DescribeRouteTables"),
    ...onInstances(cluster, ["ec2:ModifyInstanceAttribute"], SOURCE_DEST_CHECK_OFF),
    allow([INTERFACE_ACTION], ec2("network-interface/*"), { ...SOURCE_DEST_CHECK_OFF, ...inVpc(cluster) }),
    ...onRouteTables(cluster),
  ],
  service: (cluster) => [
    reading("ec2:Describe*", "elasticloadbalancing:Describe*"),
    allow(["iam:CreateServiceLinkedRole"], SERVICE_LINKED_ROLE),
    ...creations(cluster),
    ...tagged(cluster, [RULES, ...GROUP_ACTIONS, ...LOAD_BALANCER_CHANGES], [ec2(GROUPS), LOAD_BALANCERS]),
    ...onNodeGroups(cluster),
  ],
};

const INTERFACE_ACTION = "ec2:ModifyNetworkInterfaceAttribute";

/** AuthorizeSecurityGroupIngress, RevokeSecurityGroupIngress and UpdateSecurityGroupRuleDescriptionsIngress. */
const RULES = "ec2:*SecurityGroup*Ingress";
const GROUP_ACTIONS = ["ec2:CreateTags", "ec2:DeleteTags", "ec2:DeleteSecurityGroup"];
const GROUPS = "security-group/*";
const LOAD_BALANCERS = "arn:*:elasticloadbalancing:*:*:*";

/**
 * What changes load balancers, listeners and target groups, as patterns: their names would not leave room for the rest. What they let
 * through beyond the role's actions concerns the cluster's own load balancers, and the role of the deployment refuses it.
 */
const LOAD_BALANCER_CHANGES = [
  "*Tags",
  "*Listener*",
  "*LoadBalancer*",
  "*Target*",
  "ConfigureHealthCheck",
  "Set*",
].map((name) => `elasticloadbalancing:${name}`);

const SERVICE_LINKED_ROLE = "arn:*:iam::*:role/aws-service-role/*";

/** Nobody but the platform says whose an instance is; a DeleteTags without keys would delete every tag. */
const NO_OWNERSHIP_TAGS: Condition = {
  "ForAllValues:StringNotLike": { "aws:TagKeys": ["kubernetes.io/*", "KubernetesCluster"] },
  Null: { "aws:TagKeys": "false" },
};

const SOURCE_DEST_CHECK_OFF: Condition = {
  StringEqualsIgnoreCase: { "ec2:Attribute/SourceDestCheck": "false" },
};

/** What is made carries the cluster's tag from the first moment; what has no tag gets one only as it is made. */
function creations(cluster: PolicyCluster): readonly Statement[] {
  const name = nameOf(cluster);
  if (name === undefined) return [];
  return [
    allow(
      [
        "ec2:CreateSecurityGroup",
        "elasticloadbalancing:CreateLoadBalancer",
        "elasticloadbalancing:CreateTargetGroup",
      ],
      "*",
      { Null: { [`aws:RequestTag/${TAG_PREFIX}${name}`]: "false" } },
    ),
    // AWS asks for it on the VPC, too, of which no tag is told.
    allow(["ec2:CreateSecurityGroup"], ec2(`vpc/${cluster.vpc ?? "*"}`)),
    allow(["elasticloadbalancing:AddTags"], "*", {
      StringLike: { "elasticloadbalancing:CreateAction": "Create*" },
    }),
    allow(["ec2:CreateTags"], ec2(GROUPS), { StringEquals: { "ec2:CreateAction": "CreateSecurityGroup" } }),
  ];
}

/**
 * The groups of nodes that need no tag: those that configuration lists. Where the policy is not strict all of the configured VPC, and of the
 * account without one, as they were before there was a policy; and listeners that an old stock controller left without any tag.
 */
function onNodeGroups(cluster: PolicyCluster): readonly Statement[] {
  if (cluster.sessionPolicy === "strict") return onListedGroups(cluster);
  return [
    allow([RULES], ec2(GROUPS), inVpc(cluster)),
    allow(
      ["elasticloadbalancing:DeleteListener", "elasticloadbalancing:ModifyListener"],
      "arn:*:elasticloadbalancing:*:*:listener/net/a*",
      { Null: { "aws:ResourceTag/kubernetes.io/service-name": "true" } },
    ),
  ];
}

/** By ARN, in which an asterisk stands for what the list means by it; or by the tag that the list names. */
function onListedGroups({ allow: { nodeSecurityGroups = [] } }: PolicyCluster): readonly Statement[] {
  const ids = nodeSecurityGroups.filter((each) => typeof each === "string");
  const tags = nodeSecurityGroups.filter((each) => typeof each !== "string");
  const byId = ids.map((id) => ec2(`security-group/${id}`));
  return [
    ...(byId.length === 0 ? [] : [allow([RULES], byId)]),
    ...tags.map(({ tag, value }) => {
      const key = `aws:ResourceTag/${tag}`;
      const condition =
        value === undefined ? { Null: { [key]: "false" } } : { StringEquals: { [key]: value } };
      return allow([RULES], ec2(GROUPS), condition);
    }),
  ];
}

/** AWS asks for the change of an interface on the instance, too, that it is attached to, and tells no attribute there. */
function onRouteTables(cluster: PolicyCluster): readonly Statement[] {
  const routes = ["ec2:CreateRoute", "ec2:DeleteRoute", "ec2:ReplaceRoute"];
  const tables = ec2("route-table/*");
  const listed = cluster.routeTableIDs?.map((id) => ec2(`route-table/${id}`));
  if (listed !== undefined) return [allow(routes, listed), ...onInstances(cluster, [INTERFACE_ACTION])];
  if (!hasTaggedInstances(cluster))
    return [...anyTagged(cluster, routes, tables), ...onInstances(cluster, [INTERFACE_ACTION])];
  // In one: a statement for each would not leave room for a long name.
  return anyTagged(cluster, [...routes, INTERFACE_ACTION], [tables, ec2("instance/*")]);
}

function onInstances(
  cluster: PolicyCluster,
  actions: readonly string[],
  condition: Condition = {},
): readonly Statement[] {
  const instances = ec2("instance/*");
  return hasTaggedInstances(cluster)
    ? anyTagged(cluster, actions, instances, condition)
    : [allow(actions, instances, condition)];
}

/** EC2 tells no VPC of an instance: where the VPC alone makes one the cluster's, only a strict policy narrows them, to those with its tag. */
function hasTaggedInstances({ clusterTag, sessionPolicy: mode }: PolicyCluster): boolean {
  return clusterTag !== undefined || mode === "strict";
}

/** On resources with the cluster's tag of today or of old: a platform may have left instances and route tables with that one alone. */
function anyTagged(
  cluster: PolicyCluster,
  actions: readonly string[],
  resources: string | readonly string[],
  condition: Condition = {},
): readonly Statement[] {
  const today = tagged(cluster, actions, resources, condition);
  const name = nameOf(cluster);
  const isNever = cluster.sessionPolicy === "strict" && cluster.legacyClusterTag !== true;
  // A value with a variable in it is another one in every request.
  if (name === undefined || isNever || name.includes("${")) return today;
  const StringEquals = { "aws:ResourceTag/KubernetesCluster": name };
  return [...today, allow(actions, resources, { ...condition, StringEquals })];
}

/** On resources with the cluster's tag, whatever it says. */
function tagged(
  cluster: PolicyCluster,
  actions: readonly string[],
  resources: string | readonly string[],
  condition: Condition = {},
): readonly Statement[] {
  const name = nameOf(cluster);
  if (name === undefined) return [];
  const Null = { ...condition["Null"], [`aws:ResourceTag/${TAG_PREFIX}${name}`]: "false" };
  return [allow(actions, resources, { ...condition, Null })];
}

function inVpc({ vpc }: PolicyCluster): Condition {
  return vpc === undefined ? {} : { ArnLike: { "ec2:Vpc": ec2(`vpc/${vpc}`) } };
}

function ec2(resource: string): string {
  return `arn:*:ec2:*:*:${resource}`;
}

function allow(
  [first = "", ...more]: readonly string[],
  Resource: string | readonly string[],
  Condition: Condition = {},
): Statement {
  const Action = more.length === 0 ? first : [first, ...more];
  return { Effect: "Allow", Action, Resource, ...(Object.keys(Condition).length === 0 ? {} : { Condition }) };
}

/** What stands for NAME in the tag `kubernetes.io/cluster/NAME`. */
function nameOf({ clusterTag, clusterName }: PolicyCluster): string | undefined {
  return clusterTag ?? clusterName;
}

const TAG_PREFIX = "kubernetes.io/cluster/";
