import { accept, type Reader, reject } from "#clouds/annotations/readers.ts";
import { parsePairs } from "#clouds/aws/load-balancers/annotations/readers.ts";
import { isReservedTag } from "#core/reserved-tags.ts";

/** Tags by key. */
export type AdditionalTags = Readonly<Record<string, string>>;

/**
 * Reads `additional-resource-tags`: all tags in it, including those that a Service may not set
 * (`settableTags`).
 */
export const readAdditionalTags: Reader<AdditionalTags> = (written) => {
  const tags = new Map(parsePairs(written));
  for (const [key, value] of tags) if (!isTag(key, value)) return reject(SHAPE);
  if (tags.size > MAX_TAGS) return reject(`at most ${MAX_TAGS} tags`);
  return accept(Object.fromEntries(tags));
};

/** The tags of an annotation, split by whether the Service may set them. */
export interface TagDecision {
  readonly settable: AdditionalTags;
  /** Keys that are neither set nor changed, in the annotation's order. */
  readonly refused: readonly string[];
}

/**
 * Checks tags by their keys. Keys by which controllers or AWS recognize their resources are rejected.
 * Otherwise a tenant could make another controller take, change or delete a resource. With `allowed`, which
 * is `cloud.allow.tagKeys`, only listed keys are accepted; another controller's keys must be listed with that
 * controller's prefix.
 */
export function checkTags(tags: AdditionalTags, allowed: readonly string[] | undefined): TagDecision {
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

/** Whether only controllers and AWS set a tag's key, or the keys of a pattern. */
export function isReserved(key: string): boolean {
  const lower = key.toLowerCase();
  const [domain] = lower.split("/", 1);
  const isOfController =
    lower !== domain && DOMAINS.some((each) => domain === each || domain?.endsWith(`.${each}`));
  return isReservedTag(key) || isOfController || lower.startsWith("eks:");
}

/**
 * Prefixes before the slash in keys of other controllers, subdomains included. They belong to Kubernetes and its
 * projects (cluster-autoscaler, Cluster API, kops), to the AWS Load Balancer Controller, and to EKS and its CNI.
 * Others belong to the CSI drivers, Karpenter and eksctl.
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

/** The allowed keys for messages, as many characters as fit into an Event. */
export const SETTABLE_KEYS =
  "keys that the cluster's operator allows, and none that controllers go by: under kubernetes.io, k8s.io, k8s.aws, amazonaws.com, csi.aws.com, karpenter.sh or eksctl.io, or with aws:, eks: or serverless-ccm.io/ in front. The other tags are set";

/** AWS allows 50 tags per resource, including the ownership tags. */
const MAX_TAGS = 40;

const SHAPE =
  "tags as key=value,key=value: keys of 1 to 128 and values of at most 256 letters, digits, spaces and _ . : / + - @";

/** AWS's pattern of keys and values. */
const CHARACTERS = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;

function isTag(key: string, value: string): boolean {
  const isShort = [...key].length <= 128 && [...value].length <= 256;
  return isShort && CHARACTERS.test(key) && CHARACTERS.test(value);
}
