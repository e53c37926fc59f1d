import type { KubeVipCloudConfig } from "#clouds/kubevip/config.ts";
import { isOfPool } from "#clouds/kubevip/load-balancers/choose.ts";
import { type Holder, MAX_ADDRESSES, parseAddresses } from "#clouds/kubevip/load-balancers/holders.ts";
import { ADDRESSES_ANNOTATION } from "#clouds/kubevip/load-balancers/keys.ts";
import type { PoolState } from "#clouds/kubevip/load-balancers/pool-state.ts";
import { getAddressesText } from "#clouds/kubevip/load-balancers/requested-address.ts";
import { canonicalizeIp } from "#core/cidr.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** The field of a Service that names an address. */
export const FIELD = "spec.loadBalancerIP";

/** Checks `spec.loadBalancerIP`. */
export function checkField({ spec: { loadBalancerIP: value } }: Service): Issue | undefined {
  if (!value || canonicalizeIp(value) !== undefined) return undefined;
  return { code: "InvalidField", field: FIELD, value, allowed: "an IP address" };
}

/** Checks the annotation that names addresses. */
export function checkAnnotation(service: Service): Issue | undefined {
  const value = getAddressesText(service);
  if (parseAddresses(value) !== undefined) return undefined;
  const allowed = `IP addresses with commas between them, at most ${MAX_ADDRESSES}`;
  return { code: "InvalidAnnotation", field: ADDRESSES_ANNOTATION, value, allowed };
}

/**
 * Checks that an address is in the pool if Services may name only such ones; the caller adds the field's
 * name.
 */
export function checkPool(
  { metadata: { namespace } }: Service,
  addresses: readonly string[],
  data: PoolState["data"],
  { cloud }: Settings,
): Issue | undefined {
  // It was parsed, and the controller has checked that it is this cloud's.
  const { outsidePool: isOutside } = cloud as Settings["cloud"] & KubeVipCloudConfig;
  if (isOutside === "allow") return undefined;
  const isWithin = addresses.every((address) => isOfPool(data ?? {}, namespace, address) === true);
  return isWithin ? undefined : { code: "AddressOutsidePool", allowed: "an address of the pool" };
}

/** Builds the issue of an address that another Service has. */
export function buildInUseIssue(
  { namespace, name }: Holder,
  field: string,
  value: string | undefined,
): Issue {
  const holder = `${namespace}/${name}`;
  const allowed = `an address that Service ${holder} does not have`;
  return { code: "AddressInUse", field, value, allowed, detail: `it is that of Service ${holder}` };
}

/** Builds the issue of a failed choice from its code. */
export function buildNoAddressIssue(code: string, { spec }: Service): Issue {
  if (code !== "PoolLacksFamily") return { code };
  return {
    code,
    field: spec.ipFamilyPolicy === "RequireDualStack" ? "spec.ipFamilyPolicy" : "spec.ipFamilies",
  };
}
