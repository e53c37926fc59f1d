import { createHash } from "node:crypto";
import type { Tags } from "#core/tagging/model.ts";

/** Maximum characters of a tag's key. */
const MAX_KEY = 128;

/** Maximum characters of a tag's value. */
const MAX_VALUE = 256;

/** Characters per digest in the value: 36 bits of a hash, so that all tags of a resource fit into one value. */
const DIGEST = 6;

/** Prefix of a value whose digests cover the tags' values too; it cannot be a digest. */
const WITH_VALUES = "=value";

/**
 * Returns the key of the tag that records which tags of an instance we manage. It names the cluster, because
 * instances of several clusters share a VPC.
 */
export function formatManagedTagsKey(cluster: string): string {
  const key = `${PREFIX}${cluster}`;
  if (key.length <= MAX_KEY) return key;
  return `${PREFIX}${createHash("sha256").update(cluster).digest("hex")}`;
}

/**
 * Formats the value of that tag, for tags in any order. It holds digests of the keys, which earlier versions read, and
 * digests of keys with values. If there are too many tags, it holds only the latter.
 */
export function formatManagedTags(tags: Tags): string {
  const pairs = Object.entries(tags).map(([key, value]) => hashText(formatTag(key, value)));
  const digests = [...Object.keys(tags).map(hashText), ...pairs];
  const fittingDigests = (digests.length + 1) * DIGEST <= MAX_VALUE ? digests : pairs;
  return [WITH_VALUES, ...fittingDigests.toSorted()].join("");
}

/** Returns the keys of the resource's tags that the value records. */
export function parseManagedTags(tagValue: string, tags: Tags, configured: Tags): readonly string[] {
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

const PREFIX = "serverless-ccm.io/tags/";
