import type { OciCloudConfig } from "#clouds/oci/kind.ts";
import { realmOf } from "#clouds/oci/ocid.ts";
import { domainOfRealm, regionNamed } from "#clouds/oci/regions.ts";

/** The parts of Oracle's API that are in use; compute and network are one. */
export type OciService = "iaas" | "identity" | "loadBalancer" | "networkLoadBalancer";

/** The base URL of each, as configured, else by region and realm. */
export function hostsOf({ auth, endpoints = {} }: OciCloudConfig): Readonly<Record<OciService, string>> {
  const region = regionNamed(auth.region) ?? auth.region;
  const domain = domainOfRealm(realmOf(auth.tenancy)) ?? "oraclecloud.com";
  const iaas = endpoints.iaas ?? `https://iaas.${region}.${domain}`;
  return {
    iaas,
    identity: endpoints.identity ?? `https://identity.${region}.oci.${domain}`,
    loadBalancer: endpoints.loadBalancer ?? iaas,
    networkLoadBalancer:
      endpoints.networkLoadBalancer ?? `https://network-load-balancer-api.${region}.oci.${domain}`,
  };
}
