import type { Pairs } from "#clouds/aws/load-balancers/state.ts";

/**
 * The tag that names the attributes set by the annotation `target-group-attributes`. Only these return to
 * AWS's default when the annotation no longer names them; attributes that others set stay.
 */
export const SET_ATTRIBUTES = "serverless-ccm.io/target-group-attributes";

/** Builds the tag for attributes that are set; empty without any. */
export function buildAttributeTag(attributes: Pairs): Pairs {
  const keys = Object.keys(attributes).sort();
  return keys.length === 0 ? {} : { [SET_ATTRIBUTES]: keys.join(" ") };
}

/** Parses the names of attributes in the tag. */
export function parseAttributeTag(tags: Pairs): readonly string[] {
  return (tags[SET_ATTRIBUTES] ?? "").split(" ").filter((key) => Object.hasOwn(ATTRIBUTE_DEFAULTS, key));
}

/** AWS's defaults for target groups of instances. */
export const ATTRIBUTE_DEFAULTS: Pairs = {
  "preserve_client_ip.enabled": "true",
  "proxy_protocol_v2.enabled": "false",
};
