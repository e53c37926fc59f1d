import * as z from "zod";
import { LabelsFromTags } from "#clouds/aws/labels-from-tags.ts";
import { Quotas } from "#clouds/aws/quotas.ts";
import { describeUnknownRegion, isRegionName } from "#clouds/aws/regions.ts";
import { checkSessionPolicy, SESSION_POLICIES } from "#clouds/aws/session-policy.ts";
import { isReservedTag } from "#core/reserved-tags.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { SecretReference } from "#platforms/secrets/reference.ts";

/** An IP family of node addresses, in the terms of the AWS cloud-controller-manager's configuration. */
export const NodeIPFamily = z.enum(["ipv4", "ipv6"]);
export type NodeIPFamily = z.output<typeof NodeIPFamily>;

/** A resource by id, ARN or name; a trailing `*` matches any suffix. */
const NamePattern = z.string().min(1).max(2_048);

/** All resources with a tag; without a value, any value matches. */
const TagPattern = z.strictObject({
  tag: z.string().min(1).max(128),
  value: z.string().max(256).optional(),
});

/** A tag's key; a trailing `*` matches any suffix. */
const TagKey = z
  .string()
  .min(1)
  .max(128)
  .refine(
    (key) => !isReservedTag(key),
    "names the owner of a resource, and no annotation may set it: leave it out",
  );

const buildNameList = () => z.array(NamePattern).max(1_000).prefault([]);

const buildPatternList = () =>
  z
    .array(z.union([NamePattern, TagPattern], "an id such as sg-0123456789abcdef0, or { tag: …, value: … }"))
    .max(1_000)
    .prefault([]);

/** Resources without the cluster's tag that Services may name in annotations. The default allows nothing. */
const Allow = z.strictObject({
  securityGroups: buildPatternList(),
  subnets: buildPatternList(),
  elasticIPs: buildPatternList(),
  /** The tags of certificates and buckets are not read. */
  certificates: buildNameList(),
  buckets: buildNameList(),
  /**
   * Security groups of nodes in which rules may be changed although they lack the cluster's tag. Annotations
   * cannot name them.
   */
  nodeSecurityGroups: buildPatternList(),
  /** Keys of tags that Services may set; without it all keys except those of controllers and of AWS. */
  tagKeys: z.array(TagKey).max(100).optional(),
});

const NODE_PORT_RANGE = "the first and the last port with a dash between, such as 30000-32767";

/**
 * The keys of `AwsCloudConfig` for load balancers. Keys of the stock controller's configuration keep their
 * names.
 */
const LOAD_BALANCER_KEYS = {
  /** `--cluster-name` of the stock controller: part of the names of managed security groups. */
  clusterName: z.string().min(1).max(255).optional(),
  /** New resources of the cluster also get the tag `KubernetesCluster`. */
  legacyClusterTag: z.boolean().prefault(false),
  subnetID: z
    .string()
    .regex(/^subnet-[0-9a-z]+$/, "a subnet's id such as subnet-0123456789abcdef0")
    .optional(),
  disableSecurityGroupIngress: z.boolean().prefault(false),
  elbSecurityGroup: z
    .string()
    .regex(/^sg-[0-9a-z]+$/, "a security group's id such as sg-0123456789abcdef0")
    .optional(),
  nlbSecurityGroupMode: z.enum(["Managed"], "Managed, or leave it out").optional(),
  clusterServiceLoadBalancerHealthProbeMode: z
    .enum(["ServiceNodePort", "Shared"])
    .prefault("ServiceNodePort"),
  clusterServiceSharedLoadBalancerHealthProbePort: z.int().min(1).max(65_535).prefault(10_256),
  clusterServiceSharedLoadBalancerHealthProbePath: z
    .string()
    .regex(/^\/[!-~]{0,1022}$/, "a path such as /healthz")
    .prefault("/healthz"),
  /** A load balancer is deleted and created again if a Service changes its type; its DNS name changes. */
  replaceOnTypeChange: z.boolean().prefault(false),
  /**
   * One security group for all network load balancers of the cluster, and one rule per protocol in the nodes'
   * groups.
   */
  sharedBackendSecurityGroup: z.boolean().prefault(false),
  /**
   * `--service-node-port-range` of the API server. Without `clusterTag` no load balancer targets other ports
   * of instances.
   */
  serviceNodePortRange: z.string().refine(isPortRange, NODE_PORT_RANGE).prefault("30000-32767"),
  allow: Allow.prefault({}),
} as const;

/**
 * Configuration of a cluster on AWS. Facts about nodes or identity are configured, never read from the
 * metadata service.
 */
export const AwsCloudConfig = z
  .strictObject({
    provider: z.literal("aws"),
    /** Rejected if it does not follow the pattern of region names; an unknown region may be new. */
    region: z
      .string("an AWS region such as eu-central-1")
      .refine(isRegionName, { error: ({ input }) => formatUnknownRegion(String(input)) }),
    /** Instances must be in this VPC; needed unless `clusterTag` is given. */
    vpc: z
      .string()
      .regex(/^vpc-[0-9a-z]+$/, "a VPC id such as vpc-0123456789abcdef0")
      .optional(),
    /** Instances must carry the tag `kubernetes.io/cluster/<clusterTag>`; needed unless `vpc` is given. */
    clusterTag: z
      .string()
      // A tag's key has at most 128 characters.
      .regex(/^.{1,106}$/su, "1 to 106 characters")
      .optional(),
    /**
     * Assumed for all calls. `{function}` stands for the name of the calling function. Its account is the
     * cluster's account.
     */
    roleArn: z
      .string()
      .regex(
        /^arn:[^:]+:iam::\d{12}:role\/([^{}]|\{function\})+$/,
        "the ARN of an IAM role; {function} in its name is the name of the function that assumes it",
      )
      .optional(),
    /** How narrowly the role's sessions are limited to this cluster. */
    sessionPolicy: z.enum(SESSION_POLICIES, "strict, compatible or none").prefault("compatible"),
    /** Sent as x-amz-source-arn with AssumeRole, against the confused-deputy problem. */
    sourceArn: z.string().regex(/^arn:/, "an ARN").optional(),
    externalId: z
      .string()
      // STS's own rule: it would reject each AssumeRole.
      .regex(/^[\w+=,.@:/-]{2,1224}$/, "2 to 1224 letters, digits or characters of _+=,.@:/-")
      .optional(),
    /**
     * Reference to access keys, in place of the SDK's standard chain. With `roleArn`, the role is assumed
     * with these keys.
     */
    credentials: SecretReference.optional(),
    /** The route tables for pod routes; without it, the tables with the cluster's tag. */
    routeTableIDs: z
      .array(z.string().regex(/^rtb-[0-9a-z]+$/, "a route table id such as rtb-0123456789abcdef0"))
      .min(1)
      .max(50)
      .optional(),
    nodeIPFamilies: z.array(NodeIPFamily).min(1).max(2).prefault(["ipv4"]),
    /**
     * Also finds an instance by the node's reported InternalIP. Disabled by default, because the tenant
     * controls the address.
     */
    matchByNodeIP: z.boolean().prefault(false),
    /** Tags of an instance that become labels of its node. */
    labelsFromTags: LabelsFromTags.optional(),
    /** Instance types whose position in the network topology is read. */
    topologyInstanceTypePattern: z
      .string()
      .prefault(String.raw`^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$`),
    /** The account's API quotas that differ from AWS's defaults. */
    quotas: Quotas.optional(),
    ...LOAD_BALANCER_KEYS,
  })
  .refine((cloud) => cloud.vpc !== undefined || cloud.clusterTag !== undefined, {
    message:
      "vpc or clusterTag is required: without either, an instance cannot be proven to belong to the cluster",
    path: ["vpc"],
  })
  .refine((cloud) => new Set(cloud.nodeIPFamilies).size === cloud.nodeIPFamilies.length, {
    message: "a family is listed twice",
    path: ["nodeIPFamilies"],
  })
  .refine(({ routeTableIDs = [] }) => new Set(routeTableIDs).size === routeTableIDs.length, {
    message: "a route table is listed twice",
    path: ["routeTableIDs"],
  })
  .refine((cloud) => isRegularExpression(cloud.topologyInstanceTypePattern), {
    message: "not a regular expression",
    path: ["topologyInstanceTypePattern"],
  })
  .check(({ value, issues }) => {
    const message = checkSessionPolicy({ ...value, clusterName: LONGEST_NAME });
    if (message !== undefined)
      issues.push({ code: "custom", input: value.sessionPolicy, path: ["sessionPolicy"], message });
  })
  .refine((cloud) => !cloud.sharedBackendSecurityGroup || !cloud.disableSecurityGroupIngress, {
    message: "its rules are in the nodes' groups, which disableSecurityGroupIngress leaves unchanged",
    path: ["sharedBackendSecurityGroup"],
  });
export type AwsCloudConfig = z.output<typeof AwsCloudConfig>;

/**
 * The cluster's name replaces `clusterTag` and is unknown here; a tag's key has room for this many
 * characters.
 */
const LONGEST_NAME = "x".repeat(106);

function formatUnknownRegion(name: string): string {
  return `"${sanitizeText(name, 64)}" is not an AWS region such as eu-central-1${describeUnknownRegion(name)}`;
}

function isRegularExpression(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}

function isPortRange(text: string): boolean {
  const [first = 0, last = 0] = text.split("-").map(Number);
  if (!/^\d{1,5}-\d{1,5}$/.test(text)) return false;
  return first >= 1 && first <= last && last <= 65_535;
}
