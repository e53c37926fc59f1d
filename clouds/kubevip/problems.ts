import { writtenOn } from "#clouds/kubevip/addresses-of.ts";
import { isOfPool } from "#clouds/kubevip/choose.ts";
import { addressesIn, type Holder, MAX_ADDRESSES } from "#clouds/kubevip/holders.ts";
import { ADDRESSES_ANNOTATION } from "#clouds/kubevip/keys.ts";
import type { KubeVipCloudConfig } from "#clouds/kubevip/kind.ts";
import type { Observed } from "#clouds/kubevip/observed.ts";
import { canonicalIp } from "#core/cidr.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** The field of a Service that names an address. */
export const FIELD = "spec.loadBalancerIP";

/** What is wrong with `spec.loadBalancerIP`. */
export function faultOfField({ spec: { loadBalancerIP: value } }: Service): Problem | undefined {
  if (!value || canonicalIp(value) !== undefined) return undefined;
  return { code: "InvalidField", field: FIELD, value, allowed: "an IP address" };
}

/** What is wrong with the annotation that names addresses. */
export function faultOfAnnotation(service: Service): Problem | undefined {
  const value = writtenOn(service);
  if (addressesIn(value) !== undefined) return undefined;
  const allowed = `IP addresses with commas between them, at most ${MAX_ADDRESSES}`;
  return { code: "InvalidAnnotation", field: ADDRESSES_ANNOTATION, value, allowed };
}

/** Where a Service may name addresses of its pool alone, that one of these is none; whoever says it adds where it is named. */
export function outsidePool(
  { metadata: { namespace } }: Service,
  addresses: readonly string[],
  data: Observed["data"],
  { cloud }: Settings,
): Problem | undefined {
  // It has been parsed, and that it is this cloud's the controller has seen to.
  const { outsidePool: isOutside } = cloud as Settings["cloud"] & KubeVipCloudConfig;
  if (isOutside === "allow") return undefined;
  const isWithin = addresses.every((address) => isOfPool(data ?? {}, namespace, address) === true);
  return isWithin ? undefined : { code: "AddressOutsidePool", allowed: "an address of the pool" };
}

/** That another Service has an address which a Service names. */
export function inUse({ namespace, name }: Holder, field: string, value: string | undefined): Problem {
  const holder = `${namespace}/${name}`;
  const allowed = `an address that Service ${holder} does not have`;
  return { code: "AddressInUse", field, value, allowed, detail: `it is that of Service ${holder}` };
}

/** Why none can be chosen, by a code. */
export function noAddress(code: string, { spec }: Service): Problem {
  if (code !== "PoolLacksFamily") return { code };
  return {
    code,
    field: spec.ipFamilyPolicy === "RequireDualStack" ? "spec.ipFamilyPolicy" : "spec.ipFamilies",
  };
}
