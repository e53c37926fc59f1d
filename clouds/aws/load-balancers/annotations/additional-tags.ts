import { is, mayBe, type Reader } from "#clouds/annotations/reading.ts";
import { pairsOf } from "#clouds/aws/load-balancers/annotations/reading.ts";

/** Tags by key. */
export type AdditionalTags = Readonly<Record<string, string>>;

/** Reads `additional-resource-tags`. Keys that say whose a resource is are the controllers' alone, or a Service could claim another's. */
export const additionalTags: Reader<AdditionalTags> = (written) => {
  const tags = new Map(pairsOf(written));
  for (const [key, value] of tags) {
    if (isReserved(key))
      return mayBe(
        "tags whose keys do not begin with kubernetes.io/, serverless-ccm.io/ or aws: and are not KubernetesCluster",
        "ReservedTag",
      );
    if (!isTag(key, value)) return mayBe(SHAPE);
  }
  if (tags.size > MAX_TAGS) return mayBe(`at most ${MAX_TAGS} tags`);
  return is(Object.fromEntries(tags));
};

/** Whether a tag's key is one that only controllers and AWS itself give. */
export function isReserved(key: string): boolean {
  const lower = key.toLowerCase();
  return lower === "kubernetescluster" || RESERVED.some((prefix) => lower.startsWith(prefix));
}

const RESERVED = ["aws:", "kubernetes.io/", "serverless-ccm.io/"];

/** AWS has room for 50 on a resource, and those that say whose it is are among them. */
const MAX_TAGS = 40;

const SHAPE =
  "tags as key=value,key=value: keys of 1 to 128 and values of at most 256 letters, digits, spaces and _ . : / + - @";

/** AWS's own pattern of keys and values. */
const CHARACTERS = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;

function isTag(key: string, value: string): boolean {
  const isShort = [...key].length <= 128 && [...value].length <= 256;
  return isShort && CHARACTERS.test(key) && CHARACTERS.test(value);
}
