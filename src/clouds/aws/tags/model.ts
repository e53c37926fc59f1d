import { createHash } from "node:crypto";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import type { NodeTagsModel, Tags } from "#core/node-tags.ts";
import type { Settings } from "#core/settings.ts";

/** Maximum characters of a tag's key. */
const MAX_KEY = 128;

/** Maximum characters of a tag's value. */
const MAX_VALUE = 256;

/** Characters per digest in the value: 36 bits of a hash, so that all tags of a resource fit into one value. */
const DIGEST = 6;

/** Prefix of a value whose digests cover the tags' values too; it cannot be a digest. */
const WITH_VALUES = "=value";

const PREFIX = "serverless-ccm.io/tags/";

/** Tags of EC2 instances. Fargate nodes and nodes with another cloud's provider ID have none. */
export const awsTags: NodeTagsModel = {
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
  owned(tags, configured, settings) {
    const key = formatManagedTagsKey(getClusterTag(settings));
    const value = Object.hasOwn(tags, key) ? tags[key] : undefined;
    return value === undefined ? [] : [...parseManagedTags(value, tags, configured), key];
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

/**
 * Returns the key of the tag that records which tags of an instance we manage. It names the cluster, because
 * instances of several clusters share a VPC.
 */
function formatManagedTagsKey(cluster: string): string {
  const key = `${PREFIX}${cluster}`;
  if (key.length <= MAX_KEY) return key;
  return `${PREFIX}${createHash("sha256").update(cluster).digest("hex")}`;
}

/**
 * Formats the value of that tag, for tags in any order. It holds digests of the keys, which earlier versions read, and
 * digests of keys with values. If there are too many tags, it holds only the latter.
 */
function formatManagedTags(tags: Tags): string {
  const pairs = Object.entries(tags).map(([key, value]) => hashText(formatTag(key, value)));
  const digests = [...Object.keys(tags).map(hashText), ...pairs];
  const fittingDigests = (digests.length + 1) * DIGEST <= MAX_VALUE ? digests : pairs;
  return [WITH_VALUES, ...fittingDigests.toSorted()].join("");
}

/** Returns the keys of the resource's tags that the value records. */
function parseManagedTags(tagValue: string, tags: Tags, configured: Tags): readonly string[] {
  const recordedDigests = new Set(tagValue.match(new RegExp(`.{${DIGEST}}`, "gs")) ?? []);
  return Object.entries(tags).flatMap(([key, value]) => {
    // An earlier version recorded keys only; compare with the configured value to detect changes
    // by others.
    const isNamed = recordedDigests.has(WITH_VALUES)
      ? recordedDigests.has(hashText(formatTag(key, value)))
      : recordedDigests.has(hashText(key)) && (!Object.hasOwn(configured, key) || configured[key] === value);
    return isNamed ? [key] : [];
  });
}

/** Keys contain no line break, so different tags never give the same text. */
function formatTag(key: string, value: string): string {
  return `${key}\n${value}`;
}

function hashText(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, DIGEST);
}
