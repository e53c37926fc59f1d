import type { Tag } from "@aws-sdk/client-ec2";
import { CLUSTER_TAG_PREFIX, LEGACY_TAG } from "#clouds/aws/load-balancers/allowed.ts";
import type { Owner } from "#clouds/aws/load-balancers/pieces.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";

/** The tag that says of which Service a resource is. */
export const SERVICE_TAG = "kubernetes.io/service-name";

/** The tags that whatever is made for a Service gets, as upstream gives them. */
export function tagsOfOwner({ namespace, name, clusterTag, legacy, additionalTags }: Owner): Pairs {
  return {
    ...additionalTags,
    [SERVICE_TAG]: `${namespace}/${name}`,
    [`${CLUSTER_TAG_PREFIX}${clusterTag}`]: "owned",
    ...(legacy ? { [LEGACY_TAG]: clusterTag } : {}),
  };
}

/** Tags as AWS's APIs have them. */
export function tagsOf(pairs: Pairs): { Key: string; Value: string }[] {
  return Object.entries(pairs).map(([Key, Value]) => ({ Key, Value }));
}

/** … and back. */
export function pairsOf(tags: readonly Tag[] = []): Pairs {
  return Object.fromEntries(tags.flatMap(({ Key: key, Value: value = "" }) => (key ? [[key, value]] : [])));
}

/** Those of the wanted tags that are not there, or say something else. */
export function tagsLacking(wanted: Pairs, tags: Pairs): Pairs {
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => tags[key] !== value));
}
