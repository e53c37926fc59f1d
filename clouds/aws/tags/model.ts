import { createHash } from "node:crypto";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import { markKey, readMark, writeMark } from "#clouds/aws/tags/mark.ts";
import type { Settings } from "#core/settings.ts";
import type { TaggingModel } from "#core/tagging/model.ts";

/** Tags of EC2 instances. A node on Fargate has none, and neither has one whose provider ID is another cloud's. */
export const awsTags: TaggingModel = {
  resourceOf(providerID) {
    const parsed = parseProviderID(providerID);
    return parsed.kind === "instance" ? parsed.id : undefined;
  },
  checksum: (tags) =>
    createHash("md5").update(Object.entries(tags).map(pairOf).toSorted(byBytes).join(",")).digest("hex"),
  mark: (settings) => markKey(clusterOf(settings)),
  marked: (tags, settings) => ({ ...tags, [markKey(clusterOf(settings))]: writeMark(tags) }),
  owned(tags, settings) {
    const key = markKey(clusterOf(settings));
    const mark = Object.hasOwn(tags, key) ? tags[key] : undefined;
    return mark === undefined ? [] : [...readMark(mark, tags, settings.tagging.tags), key];
  },
};

/** What the cluster is called in its tags. */
function clusterOf({ cloud, cluster }: Settings): string {
  const { clusterTag } = cloud;
  return typeof clusterTag === "string" ? clusterTag : cluster;
}

function pairOf([key, value]: readonly [string, string]): string {
  return `${key}=${value}`;
}

/** As Go sorts strings. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
