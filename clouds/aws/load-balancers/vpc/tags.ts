import type { Tag } from "@aws-sdk/client-ec2";
import { CLUSTER_TAG_PREFIX, LEGACY_TAG, SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import type { Owner } from "#clouds/aws/load-balancers/types.ts";

/** Builds the tags of resources created for a Service, as the stock controller does. */
export function buildOwnerTags({ namespace, name, clusterTag, legacy, additionalTags }: Owner): Pairs {
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
