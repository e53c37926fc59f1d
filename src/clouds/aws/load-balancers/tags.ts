import { createHash } from "node:crypto";
import type { Tag } from "@aws-sdk/client-ec2";
import { isReserved } from "#clouds/aws/load-balancers/annotations/additional-tags.ts";
import { ORPHANED_TAG } from "#clouds/aws/load-balancers/orphans/orphaned-service.ts";
import { CLUSTER_TAG_PREFIX, LEGACY_TAG, SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import type { Owner } from "#clouds/aws/load-balancers/types.ts";

/**
 * The tag that records which other tags came from the annotation `additional-resource-tags`: six hexadecimal
 * digits for each key. Only these are removed when the annotation no longer names them.
 */
export const ADDED_TAGS = "serverless-ccm.io/additional-tags";

/** Builds the tags of all resources created for a Service. */
export function buildServiceTags(owner: Owner): Pairs {
  const digests = Object.keys(owner.additionalTags).map(hashTagKey).sort().join("");
  return { ...buildOwnerTags(owner), ...(digests === "" ? {} : { [ADDED_TAGS]: digests }) };
}

/**
 * Plans changes to the desired tags; tags set by others stay. A resource of an existing Service loses its
 * orphan mark.
 */
export function planTagChanges(
  actual: Pairs,
  desired: Pairs,
): { readonly add: Pairs; readonly remove: readonly string[] } {
  const add = Object.entries(desired).filter(([key, value]) => actual[key] !== value);
  const recordedDigests = new Set((actual[ADDED_TAGS] ?? "").match(/.{6}/g) ?? []);
  const remove = Object.keys(actual).filter(
    (key) =>
      !Object.hasOwn(desired, key) &&
      (key === ADDED_TAGS ||
        key === ORPHANED_TAG ||
        (!isReserved(key) && recordedDigests.has(hashTagKey(key)))),
  );
  return { add: Object.fromEntries(add), remove };
}

/** Converts tags to the shape of AWS's requests, sorted by key. */
export function toTagList(tags: Pairs): { Key: string; Value: string }[] {
  return Object.entries(tags)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([Key, Value]) => ({ Key, Value }));
}

function hashTagKey(key: string): string {
  return createHash("sha1").update(key).digest("hex").slice(0, 6);
}

/** Builds the tags of resources created for a Service, as the stock controller does. */
function buildOwnerTags({ namespace, name, clusterTag, legacy, additionalTags }: Owner): Pairs {
  return {
    ...additionalTags,
    [SERVICE_TAG]: `${namespace}/${name}`,
    [`${CLUSTER_TAG_PREFIX}${clusterTag}`]: "owned",
    ...(legacy ? { [LEGACY_TAG]: clusterTag } : {}),
  };
}

/** Converts tags of AWS's APIs to pairs. */
export function toPairs(tags: readonly Tag[] = []): Pairs {
  return Object.fromEntries(tags.flatMap(({ Key: key, Value: value = "" }) => (key ? [[key, value]] : [])));
}
