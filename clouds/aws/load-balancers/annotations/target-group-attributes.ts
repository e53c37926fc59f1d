import { accept, type Reader, reject } from "#clouds/annotations/readers.ts";
import { parsePairs } from "#clouds/aws/load-balancers/annotations/readers.ts";

/** Attributes of target groups that an annotation can set. */
export interface TargetGroupAttributes {
  readonly "preserve_client_ip.enabled"?: boolean;
  readonly "proxy_protocol_v2.enabled"?: boolean;
}

/** Reads `target-group-attributes`. */
export const readTargetGroupAttributes: Reader<TargetGroupAttributes> = (written) => {
  const pairs = parsePairs(written);
  const isGood = pairs.every(([key, value]) => NAMES.has(key) && (value === "true" || value === "false"));
  if (!isGood || new Set(pairs.map(([key]) => key)).size !== pairs.length) return reject(ALLOWED);
  return accept(Object.fromEntries(pairs.map(([key, value]) => [key, value === "true"])));
};

const NAMES: ReadonlySet<string> = new Set([
  "preserve_client_ip.enabled",
  "proxy_protocol_v2.enabled",
] satisfies (keyof TargetGroupAttributes)[]);

const ALLOWED =
  "preserve_client_ip.enabled and proxy_protocol_v2.enabled, once each, as key=true or key=false";
