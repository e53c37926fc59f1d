import { CLUSTER_TAG_PREFIX, hasClusterTag, LEGACY_TAG } from "#clouds/aws/load-balancers/allowed.ts";
import type { Owner } from "#clouds/aws/load-balancers/pieces.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import { SERVICE_TAG } from "#clouds/aws/load-balancers/vpc/tags.ts";

/**
 * Whose a thing is by its tags: this Service's, another Service's of the cluster, nobody's (no cluster is named), or another's (of
 * another cluster, or shared by ours and therefore not ours to change).
 */
export type Belonging = "service" | "cluster" | "nobody" | "another";

/** Reads from tags whose a thing is. */
export function belongingOf(tags: Pairs, owner: Owner): Belonging {
  const own = tags[`${CLUSTER_TAG_PREFIX}${owner.clusterTag}`];
  const isOwned = own === "owned" || (own === undefined && tags[LEGACY_TAG] === owner.clusterTag);
  if (isOwned) return isOf(tags, owner) ? "service" : "cluster";
  return hasClusterTag(tags) ? "another" : "nobody";
}

function isOf(tags: Pairs, { namespace, name }: Owner): boolean {
  return tags[SERVICE_TAG] === `${namespace}/${name}`;
}
