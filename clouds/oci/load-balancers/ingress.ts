import type { DesiredState } from "#clouds/oci/load-balancers/desired-state/desired-state.ts";
import type { Balancer } from "#clouds/oci/load-balancers/state.ts";
import type { Ingress } from "#core/service/service.ts";

/** Builds the addresses of a load balancer for a Service's status. */
export function buildIngress(
  { ipAddresses }: Balancer,
  { annotationSettings }: DesiredState,
): readonly Ingress[] {
  const ipMode = annotationSettings.ingressIPMode?.toLowerCase() === "proxy" ? "Proxy" : "VIP";
  return (ipAddresses ?? [])
    .filter(({ isPublic }) => annotationSettings.externalIPOnly !== true || isPublic === true)
    .map(({ ipAddress }) => ({ ip: ipAddress, ipMode }));
}
