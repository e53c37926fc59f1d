import { formatAnnotationName } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { ServiceReading } from "#clouds/digitalocean/load-balancers/desired-state.ts";
import type { Issue } from "#core/service/model.ts";

/**
 * Lists requested changes of fields that are fixed at creation. A field that the Service does not set stays.
 */
export function listImmutableChanges(
  { service, annotations }: ServiceReading,
  current: LoadBalancer,
): readonly Issue[] {
  const fixedFields = [
    ["type", current.type],
    ["network", current.network],
    ["network-stack", current.network_stack],
    ["ip", current.ip],
    ["subnet-uuid", current.subnet_uuid ?? ""],
  ] as const;
  return fixedFields.flatMap(([suffix, value]) => {
    const requested = annotations[suffix];
    // It has no address before it is active.
    if (requested === undefined || requested === value || (suffix === "ip" && value === "")) return [];
    const field = formatAnnotationName(suffix);
    return [{ code: "LoadBalancerImmutable", field, value: service.metadata.annotations?.[field] }];
  });
}
