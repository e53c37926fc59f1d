import { ADDRESSES_ANNOTATION } from "#clouds/kubevip/keys.ts";
import { canonicalIp } from "#core/cidr.ts";
import type { Service } from "#core/service/service.ts";

/** What the annotation says; empty where there is none. */
export function writtenOn({ metadata }: Service): string {
  return metadata.annotations?.[ADDRESSES_ANNOTATION]?.trim() ?? "";
}

/** The address that the spec names, canonical; undefined where it names none. */
export function askedAddress({ spec }: Service): string | undefined {
  return spec.loadBalancerIP ? canonicalIp(spec.loadBalancerIP) : undefined;
}
