import { createHash } from "node:crypto";

/** A tag's key has at most so many characters. */
const MAX_KEY = 128;

/** Characters that stand for a key in a mark: 36 bits of its hash, so that the keys of a whole resource fit into one value. */
const DIGEST = 6;

/** The key of the tag that says which tags of an instance are ours; it names the cluster, as instances of several share a VPC. */
export function markKey(cluster: string): string {
  const key = `${PREFIX}${cluster}`;
  if (key.length <= MAX_KEY) return key;
  return `${PREFIX}${createHash("sha256").update(cluster).digest("hex")}`;
}

/** What a mark says of these keys, whatever their order. */
export function markOf(keys: readonly string[]): string {
  return keys.map(digestOf).toSorted().join("");
}

/** Those of a resource's keys that its mark names. */
export function keysOfMark(mark: string, keys: readonly string[]): readonly string[] {
  const digests = new Set(mark.match(new RegExp(`.{${DIGEST}}`, "gs")) ?? []);
  return keys.filter((key) => digests.has(digestOf(key)));
}

function digestOf(key: string): string {
  return createHash("sha256").update(key).digest("base64url").slice(0, DIGEST);
}

const PREFIX = "serverless-ccm.io/tags/";
