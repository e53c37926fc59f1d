import { ADDRESSES_ANNOTATION } from "#clouds/kubevip/load-balancers/keys.ts";
import { canonicalizeIp } from "#core/cidr.ts";
import type { Service } from "#core/service/service.ts";

/** Returns the annotation's text; empty without one. */
export function getAddressesText({ metadata }: Service): string {
  return metadata.annotations?.[ADDRESSES_ANNOTATION]?.trim() ?? "";
}

/** Returns the canonical address of the spec; undefined if it names none. */
export function getRequestedAddress({ spec }: Service): string | undefined {
  return spec.loadBalancerIP ? canonicalizeIp(spec.loadBalancerIP) : undefined;
}
