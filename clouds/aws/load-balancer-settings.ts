import * as z from "zod";
import { isReservedTag } from "#core/tagging/reserved-tags.ts";

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
export const Allow = z.strictObject({
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
export type Allow = z.output<typeof Allow>;

const NODE_PORT_RANGE = "the first and the last port with a dash between, such as 30000-32767";

function isPortRange(text: string): boolean {
  const [first = 0, last = 0] = text.split("-").map(Number);
  if (!/^\d{1,5}-\d{1,5}$/.test(text)) return false;
  return first >= 1 && first <= last && last <= 65_535;
}

/**
 * The keys of `AwsCloudConfig` for load balancers. Keys of the stock controller's configuration keep their
 * names.
 */
export const LOAD_BALANCER_KEYS = {
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
   * `--service-node-port-range` of the API server. Without `clusterTag` no load balancer targets other ports of instances.
   */
  serviceNodePortRange: z.string().refine(isPortRange, NODE_PORT_RANGE).prefault("30000-32767"),
  allow: Allow.prefault({}),
} as const;
