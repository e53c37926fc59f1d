import { createHash } from "node:crypto";
import type { Tags } from "#core/tagging/model.ts";

/** A tag's key has at most so many characters. */
const MAX_KEY = 128;

/** … and its value so many. */
const MAX_VALUE = 256;

/** Characters that stand for a tag in a mark: 36 bits of a hash, so that those of a whole resource fit into one value. */
const DIGEST = 6;

/** Begins a mark that names values, too, and is no digest of anything. */
const WITH_VALUES = "=value";

/** The key of the tag that says which tags of an instance are ours; it names the cluster, as instances of several share a VPC. */
export function markKey(cluster: string): string {
  const key = `${PREFIX}${cluster}`;
  if (key.length <= MAX_KEY) return key;
  return `${PREFIX}${createHash("sha256").update(cluster).digest("hex")}`;
}

/**
 * The mark of these tags, whatever their order: digests of the keys, by which versions before this one know them, and of the tags with their
 * values. Of more tags than have room so, of the latter alone.
 */
export function writeMark(tags: Tags): string {
  const pairs = Object.entries(tags).map(([key, value]) => digestOf(pairOf(key, value)));
  const both = [...Object.keys(tags).map(digestOf), ...pairs];
  const fitting = (both.length + 1) * DIGEST <= MAX_VALUE ? both : pairs;
  return [WITH_VALUES, ...fitting.toSorted()].join("");
}

/** The keys of those of a resource's tags that its mark names. */
export function readMark(mark: string, tags: Tags, configured: Tags): readonly string[] {
  const digests = new Set(mark.match(new RegExp(`.{${DIGEST}}`, "gs")) ?? []);
  return Object.entries(tags).flatMap(([key, value]) => {
    // A version before this one has marked it, and knew no values: by the configured one another's is told at least.
    const isNamed = digests.has(WITH_VALUES)
      ? digests.has(digestOf(pairOf(key, value)))
      : digests.has(digestOf(key)) && (!Object.hasOwn(configured, key) || configured[key] === value);
    return isNamed ? [key] : [];
  });
}

/** No key has a line break, so that no two tags come to the same. */
function pairOf(key: string, value: string): string {
  return `${key}\n${value}`;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, DIGEST);
}

const PREFIX = "serverless-ccm.io/tags/";
