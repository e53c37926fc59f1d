import type { Tag } from "@aws-sdk/client-ec2";
import { CLUSTER_TAG_PREFIX, LEGACY_TAG, SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type { Owner } from "#clouds/aws/load-balancers/pieces.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";

/** The tags that whatever is made for a Service gets, as upstream gives them. */
export function tagsOfOwner({ namespace, name, clusterTag, legacy, additionalTags }: Owner): Pairs {
  return {
    ...additionalTags,
    [SERVICE_TAG]: `${namespace}/${name}`,
    [`${CLUSTER_TAG_PREFIX}${clusterTag}`]: "owned",
    ...(legacy ? { [LEGACY_TAG]: clusterTag } : {}),
  };
}

/** Tags as AWS's APIs have them, as pairs. */
export function pairsOf(tags: readonly Tag[] = []): Pairs {
  return Object.fromEntries(tags.flatMap(({ Key: key, Value: value = "" }) => (key ? [[key, value]] : [])));
}
