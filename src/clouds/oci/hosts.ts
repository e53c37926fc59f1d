import type { OciCloudConfig } from "#clouds/oci/config.ts";
import { findRegion, getRealm, getRealmDomain } from "#clouds/oci/regions.ts";

/** The parts of Oracle's API in use; compute and network share one. */
export type OciService = "iaas" | "identity" | "loadBalancer" | "networkLoadBalancer";

/** Builds the base URL of each: the configured one, else by region and realm. */
export function buildBaseUrls({
  auth,
  endpoints = {},
}: OciCloudConfig): Readonly<Record<OciService, string>> {
  const region = findRegion(auth.region) ?? auth.region;
  const domain = getRealmDomain(getRealm(auth.tenancy)) ?? "oraclecloud.com";
  const iaas = endpoints.iaas ?? `https://iaas.${region}.${domain}`;
  return {
    iaas,
    identity: endpoints.identity ?? `https://identity.${region}.oci.${domain}`,
    loadBalancer: endpoints.loadBalancer ?? iaas,
    networkLoadBalancer:
      endpoints.networkLoadBalancer ?? `https://network-load-balancer-api.${region}.oci.${domain}`,
  };
}
