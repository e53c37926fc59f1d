import * as z from "zod";
import { isReservedTag } from "#core/tagging/reserved-tags.ts";

/** A resource by its id, ARN or name; what ends in `*` stands for all that begin so. */
const Named = z.string().min(1).max(2_048);

/** All resources with a tag; without a value, whatever it says. */
const Tagged = z.strictObject({
  tag: z.string().min(1).max(128),
  value: z.string().max(256).optional(),
});

/** A tag's key; what ends in `*` stands for all that begin so. */
const TagKey = z
  .string()
  .min(1)
  .max(128)
  .refine(
    (key) => !isReservedTag(key),
    "says whose a resource is, and no annotation may set it: leave it out",
  );

const named = () => z.array(Named).max(1_000).prefault([]);
const namedOrTagged = () =>
  z
    .array(z.union([Named, Tagged], "an id such as sg-0123456789abcdef0, or { tag: …, value: … }"))
    .max(1_000)
    .prefault([]);

/** What Services may name in annotations although it is not tagged as the cluster's; nothing unless the operator says so. */
export const Allow = z.strictObject({
  securityGroups: namedOrTagged(),
  subnets: namedOrTagged(),
  elasticIPs: namedOrTagged(),
  /** AWS is not asked for the tags of certificates and buckets. */
  certificates: named(),
  buckets: named(),
  /** Security groups of nodes in which rules may be changed although they lack the cluster's tag; no annotation may name them. */
  nodeSecurityGroups: namedOrTagged(),
  /** Keys of tags that Services may set; without it all but those of controllers and of AWS. */
  tagKeys: z.array(TagKey).max(100).optional(),
});
export type Allow = z.output<typeof Allow>;

const NODE_PORT_RANGE = "the first and the last port with a dash between, such as 30000-32767";

function isPortRange(text: string): boolean {
  const [first = 0, last = 0] = text.split("-").map(Number);
  if (!/^\d{1,5}-\d{1,5}$/.test(text)) return false;
  return first >= 1 && first <= last && last <= 65_535;
}

/** The keys of `AwsCloudConfig` that are about load balancers; those of the stock controller's configuration are called as there. */
export const LOAD_BALANCER_KEYS = {
  /** `--cluster-name` of the stock controller: names of managed security groups are made of it. */
  clusterName: z.string().min(1).max(255).optional(),
  /** What is made for the cluster is tagged `KubernetesCluster`, too. */
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
  /** A load balancer is deleted and made anew where a Service asks for another kind; its name in the DNS changes. */
  replaceOnTypeChange: z.boolean().prefault(false),
  /** One security group for all network load balancers of the cluster, and one rule a protocol on the nodes' groups. */
  sharedBackendSecurityGroup: z.boolean().prefault(false),
  /** `--service-node-port-range` of the API server. Without `clusterTag` no load balancer sends to other ports of instances. */
  serviceNodePortRange: z.string().refine(isPortRange, NODE_PORT_RANGE).prefault("30000-32767"),
  allow: Allow.prefault({}),
} as const;
