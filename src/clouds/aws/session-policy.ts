import { getFunctionName, SESSION_PURPOSES, type SessionPurpose } from "#clouds/aws/session-purpose.ts";

/**
 * How narrowly a cluster's sessions are limited. `strict`: to resources that carry the cluster's tag or are
 * listed. `compatible`: also to what clusters used without a tag before policies existed. `none`: no policy.
 */
export const SESSION_POLICIES = ["strict", "compatible", "none"] as const;
export type SessionPolicyMode = (typeof SESSION_POLICIES)[number];

/** The parts of `AwsCloudConfig` and of the cluster that its session policies need. */
export interface PolicyCluster {
  readonly vpc?: string | undefined;
  readonly clusterTag?: string | undefined;
  /** Replaces `clusterTag` if that is not configured. */
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

/** AWS's maximum length of an inline session policy, in characters. */
export const MAX_POLICY_LENGTH = 2_048;

/**
 * Builds the inline session policy for one cluster and one purpose. Whatever the role allows, the session
 * changes only resources that carry the cluster's tag or that its configuration lists. Undefined if the
 * configuration disables it.
 */
export function buildSessionPolicy(cluster: PolicyCluster, purpose: SessionPurpose): string | undefined {
  if (cluster.sessionPolicy === "none") return undefined;
  return JSON.stringify({ Version: "2012-10-17", Statement: STATEMENTS[purpose](cluster) });
}

/** Returns why AWS would reject a session policy of this cluster; undefined if it accepts all. */
export function checkSessionPolicy(cluster: PolicyCluster): string | undefined {
  for (const purpose of SESSION_PURPOSES) {
    const policy = buildSessionPolicy(cluster, purpose) ?? "";
    if (/[^\u0020-\u00ff]/.test(policy))
      return "clusterTag has characters that AWS takes in no session policy: rename it, or set sessionPolicy: none";
    if (policy.length > MAX_POLICY_LENGTH)
      return `the session policy of ${getFunctionName(purpose)} has ${policy.length} characters, and AWS accepts ${MAX_POLICY_LENGTH}: ${SHORTEN}`;
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

/** Read-only actions take no resource. */
const allowReads = (...actions: readonly string[]): Statement => buildStatements(actions, "*");

const STATEMENTS: Readonly<Record<SessionPurpose, (cluster: PolicyCluster) => readonly Statement[]>> = {
  node: () => [
    allowReads(
      "ec2:DescribeInstances",
      "ec2:DescribeAvailabilityZones",
      "ec2:DescribeInstanceTopology",
      "ec2:DescribeNetworkInterfaces",
    ),
  ],
  "node-lifecycle": () => [allowReads("ec2:DescribeInstances", "ec2:DescribeNetworkInterfaces")],
  csr: () => [allowReads("ec2:DescribeInstances", "ec2:DescribeNetworkInterfaces")],
  "ec2-events": () => [allowReads("ec2:DescribeInstances")],
  doctor: () => [allowReads("ec2:Describe*", "elasticloadbalancing:Describe*")],
  tags: (cluster) => [
    allowReads("ec2:DescribeInstances"),
    ...allowInstances(cluster, ["ec2:CreateTags", "ec2:DeleteTags"], NO_OWNERSHIP_TAGS),
  ],
  routes: (cluster) => [
    allowReads("ec2:DescribeInstances", "ec2:DescribeRouteTables"),
    ...allowInstances(cluster, ["ec2:ModifyInstanceAttribute"], SOURCE_DEST_CHECK_OFF),
    buildStatements([INTERFACE_ACTION], formatEc2Arn("network-interface/*"), {
      ...SOURCE_DEST_CHECK_OFF,
      ...buildVpcCondition(cluster),
    }),
    ...allowRouteTables(cluster),
  ],
  "load-balancers": (cluster) => [
    allowReads("ec2:Describe*", "elasticloadbalancing:Describe*"),
    buildStatements(["iam:CreateServiceLinkedRole"], SERVICE_LINKED_ROLE),
    ...allowCreates(cluster),
    ...allowTagged(
      cluster,
      [RULES, ...GROUP_ACTIONS, ...LOAD_BALANCER_CHANGES],
      [formatEc2Arn(GROUPS), LOAD_BALANCERS],
    ),
    ...allowNodeGroups(cluster),
  ],
};

const INTERFACE_ACTION = "ec2:ModifyNetworkInterfaceAttribute";

/** AuthorizeSecurityGroupIngress, RevokeSecurityGroupIngress and UpdateSecurityGroupRuleDescriptionsIngress. */
const RULES = "ec2:*SecurityGroup*Ingress";
const GROUP_ACTIONS = ["ec2:CreateTags", "ec2:DeleteTags", "ec2:DeleteSecurityGroup"];
const GROUPS = "security-group/*";
const LOAD_BALANCERS = "arn:*:elasticloadbalancing:*:*:*";

/**
 * Patterns for changes of load balancers, listeners and target groups; full names would leave no room for the
 * rest. What they match beyond the role's actions concerns only the cluster's own load balancers, and the
 * deployment's role denies it.
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

/** Only the platform sets ownership tags; a DeleteTags without keys would delete every tag. */
const NO_OWNERSHIP_TAGS: Condition = {
  "ForAllValues:StringNotLike": { "aws:TagKeys": ["kubernetes.io/*", "KubernetesCluster"] },
  Null: { "aws:TagKeys": "false" },
};

const SOURCE_DEST_CHECK_OFF: Condition = {
  StringEqualsIgnoreCase: { "ec2:Attribute/SourceDestCheck": "false" },
};

/**
 * New resources carry the cluster's tag from the start; untagged resources can be tagged only at creation.
 */
function allowCreates(cluster: PolicyCluster): readonly Statement[] {
  const name = getClusterTag(cluster);
  if (name === undefined) return [];
  return [
    buildStatements(
      [
        "ec2:CreateSecurityGroup",
        "elasticloadbalancing:CreateLoadBalancer",
        "elasticloadbalancing:CreateTargetGroup",
      ],
      "*",
      { Null: { [`aws:RequestTag/${TAG_PREFIX}${name}`]: "false" } },
    ),
    // AWS also checks it on the VPC, for which it provides no tag.
    buildStatements(["ec2:CreateSecurityGroup"], formatEc2Arn(`vpc/${cluster.vpc ?? "*"}`)),
    buildStatements(["elasticloadbalancing:AddTags"], "*", {
      StringLike: { "elasticloadbalancing:CreateAction": "Create*" },
    }),
    buildStatements(["ec2:CreateTags"], formatEc2Arn(GROUPS), {
      StringEquals: { "ec2:CreateAction": "CreateSecurityGroup" },
    }),
  ];
}

/**
 * Allows changes of untagged node groups that the configuration lists. Unless the policy is strict, it also
 * allows all groups of the configured VPC, or without a VPC of the account, as before policies existed. It
 * also allows untagged listeners of an old stock controller.
 */
function allowNodeGroups(cluster: PolicyCluster): readonly Statement[] {
  if (cluster.sessionPolicy === "strict") return allowListedGroups(cluster);
  return [
    buildStatements([RULES], formatEc2Arn(GROUPS), buildVpcCondition(cluster)),
    buildStatements(
      ["elasticloadbalancing:DeleteListener", "elasticloadbalancing:ModifyListener"],
      "arn:*:elasticloadbalancing:*:*:listener/net/a*",
      { Null: { "aws:ResourceTag/kubernetes.io/service-name": "true" } },
    ),
  ];
}

/** Matches by ARN, in which an asterisk means what it means in the list, or by the listed tag. */
function allowListedGroups({ allow: { nodeSecurityGroups = [] } }: PolicyCluster): readonly Statement[] {
  const ids = nodeSecurityGroups.filter((each) => typeof each === "string");
  const tags = nodeSecurityGroups.filter((each) => typeof each !== "string");
  const byId = ids.map((id) => formatEc2Arn(`security-group/${id}`));
  return [
    ...(byId.length === 0 ? [] : [buildStatements([RULES], byId)]),
    ...tags.map(({ tag, value }) => {
      const key = `aws:ResourceTag/${tag}`;
      const condition =
        value === undefined ? { Null: { [key]: "false" } } : { StringEquals: { [key]: value } };
      return buildStatements([RULES], formatEc2Arn(GROUPS), condition);
    }),
  ];
}

/** AWS also checks a change of an interface on its instance, where it provides no attribute. */
function allowRouteTables(cluster: PolicyCluster): readonly Statement[] {
  const routes = ["ec2:CreateRoute", "ec2:DeleteRoute", "ec2:ReplaceRoute"];
  const tables = formatEc2Arn("route-table/*");
  const listed = cluster.routeTableIDs?.map((id) => formatEc2Arn(`route-table/${id}`));
  if (listed !== undefined)
    return [buildStatements(routes, listed), ...allowInstances(cluster, [INTERFACE_ACTION])];
  if (!hasTaggedInstances(cluster))
    return [...allowAnyTagged(cluster, routes, tables), ...allowInstances(cluster, [INTERFACE_ACTION])];
  // In one statement: one for each would leave no room for a long name.
  return allowAnyTagged(cluster, [...routes, INTERFACE_ACTION], [tables, formatEc2Arn("instance/*")]);
}

function allowInstances(
  cluster: PolicyCluster,
  actions: readonly string[],
  condition: Condition = {},
): readonly Statement[] {
  const instances = formatEc2Arn("instance/*");
  return hasTaggedInstances(cluster)
    ? allowAnyTagged(cluster, actions, instances, condition)
    : [buildStatements(actions, instances, condition)];
}

/**
 * Whether instances are limited by tag. EC2 provides no VPC for instances: if only the VPC marks them as the
 * cluster's, only a strict policy narrows them to tagged ones.
 */
function hasTaggedInstances({ clusterTag, sessionPolicy: mode }: PolicyCluster): boolean {
  return clusterTag !== undefined || mode === "strict";
}

/**
 * Allows actions on resources with the cluster's current or legacy tag: a platform may have set only the
 * legacy tag on instances and route tables.
 */
function allowAnyTagged(
  cluster: PolicyCluster,
  actions: readonly string[],
  resources: string | readonly string[],
  condition: Condition = {},
): readonly Statement[] {
  const current = allowTagged(cluster, actions, resources, condition);
  const name = getClusterTag(cluster);
  const isLegacyTagExcluded = cluster.sessionPolicy === "strict" && cluster.legacyClusterTag !== true;
  // A value with a variable would differ between requests.
  if (name === undefined || isLegacyTagExcluded || name.includes("${")) return current;
  const StringEquals = { "aws:ResourceTag/KubernetesCluster": name };
  return [...current, buildStatements(actions, resources, { ...condition, StringEquals })];
}

/** Allows actions on resources with the cluster's tag, whatever its value. */
function allowTagged(
  cluster: PolicyCluster,
  actions: readonly string[],
  resources: string | readonly string[],
  condition: Condition = {},
): readonly Statement[] {
  const name = getClusterTag(cluster);
  if (name === undefined) return [];
  const Null = { ...condition["Null"], [`aws:ResourceTag/${TAG_PREFIX}${name}`]: "false" };
  return [buildStatements(actions, resources, { ...condition, Null })];
}

function buildVpcCondition({ vpc }: PolicyCluster): Condition {
  return vpc === undefined ? {} : { ArnLike: { "ec2:Vpc": formatEc2Arn(`vpc/${vpc}`) } };
}

function formatEc2Arn(resource: string): string {
  return `arn:*:ec2:*:*:${resource}`;
}

function buildStatements(
  [first = "", ...more]: readonly string[],
  Resource: string | readonly string[],
  Condition: Condition = {},
): Statement {
  const Action = more.length === 0 ? first : [first, ...more];
  return { Effect: "Allow", Action, Resource, ...(Object.keys(Condition).length === 0 ? {} : { Condition }) };
}

/** Returns NAME of the tag `kubernetes.io/cluster/NAME`. */
function getClusterTag({ clusterTag, clusterName }: PolicyCluster): string | undefined {
  return clusterTag ?? clusterName;
}

const TAG_PREFIX = "kubernetes.io/cluster/";
