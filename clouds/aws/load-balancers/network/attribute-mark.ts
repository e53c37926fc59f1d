import type { Pairs } from "#clouds/aws/load-balancers/state.ts";

/**
 * The tag that says which attributes of a target group came from the annotation `target-group-attributes`: those alone go back to AWS's
 * default when it no longer names them, and what somebody set by hand stays.
 */
export const SET_ATTRIBUTES = "serverless-ccm.io/target-group-attributes";

/** The tag for attributes that are set; none where none is. */
export function attributeMark(attributes: Pairs): Pairs {
  const keys = Object.keys(attributes).sort();
  return keys.length === 0 ? {} : { [SET_ATTRIBUTES]: keys.join(" ") };
}

/** The attributes that the tag names. */
export function markedAttributes(tags: Pairs): readonly string[] {
  return (tags[SET_ATTRIBUTES] ?? "").split(" ").filter((key) => Object.hasOwn(ATTRIBUTE_DEFAULTS, key));
}

/** What AWS's own values are, of target groups of instances. */
export const ATTRIBUTE_DEFAULTS: Pairs = {
  "preserve_client_ip.enabled": "true",
  "proxy_protocol_v2.enabled": "false",
};
