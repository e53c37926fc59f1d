import { createHash } from "node:crypto";
import type { Tags } from "#core/tagging/model.ts";

/** Maximum characters of a tag's key. */
const MAX_KEY = 128;

/** Maximum characters of a tag's value. */
const MAX_VALUE = 256;

/** Characters per tag in a mark: 36 bits of a hash, so that all tags of a resource fit into one value. */
const DIGEST = 6;

/** Prefix of a mark that covers values too; it cannot be a digest. */
const WITH_VALUES = "=value";

/**
 * Returns the key of the tag that says which tags of an instance are ours. It names the cluster, because
 * instances of several clusters share a VPC.
 */
export function formatManagedTagsKey(cluster: string): string {
  const key = `${PREFIX}${cluster}`;
  if (key.length <= MAX_KEY) return key;
  return `${PREFIX}${createHash("sha256").update(cluster).digest("hex")}`;
}

/**
 * Formats the mark of tags, in any order. It holds digests of the keys, which earlier versions read, and
 * digests of keys with values. If there are too many tags, it holds only the latter.
 */
export function formatManagedTags(tags: Tags): string {
  const pairs = Object.entries(tags).map(([key, value]) => hashText(formatPair(key, value)));
  const both = [...Object.keys(tags).map(hashText), ...pairs];
  const fitting = (both.length + 1) * DIGEST <= MAX_VALUE ? both : pairs;
  return [WITH_VALUES, ...fitting.toSorted()].join("");
}

/** Returns the keys of the resource's tags that its mark names. */
export function parseManagedTags(mark: string, tags: Tags, configured: Tags): readonly string[] {
  const digests = new Set(mark.match(new RegExp(`.{${DIGEST}}`, "gs")) ?? []);
  return Object.entries(tags).flatMap(([key, value]) => {
    // An earlier version wrote this mark without values; compare with the configured value to detect changes
    // by others.
    const isNamed = digests.has(WITH_VALUES)
      ? digests.has(hashText(formatPair(key, value)))
      : digests.has(hashText(key)) && (!Object.hasOwn(configured, key) || configured[key] === value);
    return isNamed ? [key] : [];
  });
}

/** Keys contain no line break, so different tags never give the same text. */
function formatPair(key: string, value: string): string {
  return `${key}\n${value}`;
}

function hashText(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, DIGEST);
}

const PREFIX = "serverless-ccm.io/tags/";
