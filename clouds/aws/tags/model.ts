import { createHash } from "node:crypto";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import { formatManagedTags, formatManagedTagsKey, parseManagedTags } from "#clouds/aws/tags/managed-tags.ts";
import type { Settings } from "#core/settings.ts";
import type { TaggingModel } from "#core/tagging/model.ts";

/** Tags of EC2 instances. Fargate nodes and nodes with another cloud's provider ID have none. */
export const awsTags: TaggingModel = {
  getResource(providerID) {
    const parsed = parseProviderID(providerID);
    return parsed.kind === "instance" ? parsed.id : undefined;
  },
  checksum: (tags) =>
    createHash("md5")
      .update(Object.entries(tags).map(formatPair).toSorted(compareBytes).join(","))
      .digest("hex"),
  mark: (settings) => formatManagedTagsKey(getClusterTag(settings)),
  marked: (tags, settings) => ({
    ...tags,
    [formatManagedTagsKey(getClusterTag(settings))]: formatManagedTags(tags),
  }),
  owned(tags, settings) {
    const key = formatManagedTagsKey(getClusterTag(settings));
    const value = Object.hasOwn(tags, key) ? tags[key] : undefined;
    return value === undefined ? [] : [...parseManagedTags(value, tags, settings.tagging.tags), key];
  },
};

/** Returns the cluster's name in its tags. */
function getClusterTag({ cloud, cluster }: Settings): string {
  const { clusterTag } = cloud;
  return typeof clusterTag === "string" ? clusterTag : cluster;
}

function formatPair([key, value]: readonly [string, string]): string {
  return `${key}=${value}`;
}

/** Compares strings by their UTF-8 bytes, as Go does. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
