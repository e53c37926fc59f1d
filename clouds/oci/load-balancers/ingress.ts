import type { Balancer } from "#clouds/oci/load-balancers/state.ts";
import type { Wanted } from "#clouds/oci/load-balancers/wanted/wanted.ts";
import type { Ingress } from "#core/service/service.ts";

/** The addresses of a load balancer as a Service's status has them. */
export function ingressOf({ ipAddresses }: Balancer, { said }: Wanted): readonly Ingress[] {
  const ipMode = said.ingressIPMode?.toLowerCase() === "proxy" ? "Proxy" : "VIP";
  return (ipAddresses ?? [])
    .filter(({ isPublic }) => said.externalIPOnly !== true || isPublic === true)
    .map(({ ipAddress }) => ({ ip: ipAddress, ipMode }));
}
