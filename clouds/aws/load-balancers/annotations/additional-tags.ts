import { is, mayBe, type Reader } from "#clouds/annotations/reading.ts";
import { pairsOf } from "#clouds/aws/load-balancers/annotations/reading.ts";
import { isReservedTag } from "#core/tagging/reserved-tags.ts";

/** Tags by key. */
export type AdditionalTags = Readonly<Record<string, string>>;

/** Reads `additional-resource-tags`: all that it names, also what a Service may not set (`settableTags`). */
export const additionalTags: Reader<AdditionalTags> = (written) => {
  const tags = new Map(pairsOf(written));
  for (const [key, value] of tags) if (!isTag(key, value)) return mayBe(SHAPE);
  if (tags.size > MAX_TAGS) return mayBe(`at most ${MAX_TAGS} tags`);
  return is(Object.fromEntries(tags));
};

/** Tags that an annotation names, by whether the Service may set them. */
export interface JudgedTags {
  readonly settable: AdditionalTags;
  /** Keys that are neither set nor changed for it, in the order in which the annotation names them. */
  readonly refused: readonly string[];
}

/**
 * Judges tags by their keys. Keys by which controllers or AWS tell what is theirs are refused, or a tenant could have another
 * controller take, change or delete what carries them. `allowed` is `cloud.allow.tagKeys`: with it only what it lists is set, and of
 * another controller's keys what it lists by that controller's prefix.
 */
export function judgeTags(tags: AdditionalTags, allowed: readonly string[] | undefined): JudgedTags {
  const isSettable = (key: string): boolean => {
    if (allowed === undefined) return !isReserved(key);
    return (
      !isReservedTag(key) &&
      allowed.some((each) => matches(each, key) && (isReserved(each) || !isReserved(key)))
    );
  };
  return {
    settable: Object.fromEntries(Object.entries(tags).filter(([key]) => isSettable(key))),
    refused: Object.keys(tags).filter((key) => !isSettable(key)),
  };
}

function matches(pattern: string, key: string): boolean {
  return pattern.endsWith("*") ? key.startsWith(pattern.slice(0, -1)) : key === pattern;
}

/** Whether a tag's key, or a pattern of such, is one that only controllers and AWS itself give. */
export function isReserved(key: string): boolean {
  const lower = key.toLowerCase();
  const [domain] = lower.split("/", 1);
  const isOfController =
    lower !== domain && DOMAINS.some((each) => domain === each || domain?.endsWith(`.${each}`));
  return isReservedTag(key) || isOfController || lower.startsWith("eks:");
}

/**
 * What stands before the slash in keys of other controllers, with all domains below: Kubernetes and its projects (cluster-autoscaler,
 * Cluster API, kops), the AWS Load Balancer Controller with its Gateway API, EKS and its CNI, the CSI drivers, Karpenter, eksctl.
 */
const DOMAINS = [
  "kubernetes.io",
  "k8s.io",
  "k8s.aws",
  "k8s.aws.nlb",
  "k8s.aws.alb",
  "amazonaws.com",
  "csi.aws.com",
  "karpenter.sh",
  "eksctl.io",
  "aws-node-termination-handler",
];

/** What is said to be allowed, with as many characters as an Event has room for. */
export const SETTABLE_KEYS =
  "keys that the cluster's operator allows, and none that controllers go by: under kubernetes.io, k8s.io, k8s.aws, amazonaws.com, csi.aws.com, karpenter.sh or eksctl.io, or with aws:, eks: or serverless-ccm.io/ in front. The other tags are set";

/** AWS has room for 50 on a resource, and those that say whose it is are among them. */
const MAX_TAGS = 40;

const SHAPE =
  "tags as key=value,key=value: keys of 1 to 128 and values of at most 256 letters, digits, spaces and _ . : / + - @";

/** AWS's own pattern of keys and values. */
const CHARACTERS = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;

function isTag(key: string, value: string): boolean {
  const isShort = [...key].length <= 128 && [...value].length <= 256;
  return isShort && CHARACTERS.test(key) && CHARACTERS.test(value);
}
