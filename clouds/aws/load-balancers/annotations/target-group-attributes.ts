import { is, mayBe, type Reader } from "#clouds/annotations/reading.ts";
import { pairsOf } from "#clouds/aws/load-balancers/annotations/reading.ts";

/** What of target groups can be set by annotation. */
export interface TargetGroupAttributes {
  readonly "preserve_client_ip.enabled"?: boolean;
  readonly "proxy_protocol_v2.enabled"?: boolean;
}

/** Reads `target-group-attributes`. */
export const targetGroupAttributes: Reader<TargetGroupAttributes> = (written) => {
  const pairs = pairsOf(written);
  const isGood = pairs.every(([key, value]) => NAMES.has(key) && (value === "true" || value === "false"));
  if (!isGood || new Set(pairs.map(([key]) => key)).size !== pairs.length) return mayBe(ALLOWED);
  return is(Object.fromEntries(pairs.map(([key, value]) => [key, value === "true"])));
};

const NAMES: ReadonlySet<string> = new Set([
  "preserve_client_ip.enabled",
  "proxy_protocol_v2.enabled",
] satisfies (keyof TargetGroupAttributes)[]);

const ALLOWED =
  "preserve_client_ip.enabled and proxy_protocol_v2.enabled, once each, as key=true or key=false";
