import { formatAnnotationName } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { ServiceReading } from "#clouds/digitalocean/load-balancers/desired-state.ts";
import type { Issue } from "#core/service/model.ts";

/**
 * Lists requested changes of fields that are fixed at creation. A field that the Service does not set stays.
 */
export function listImmutableChanges(
  { service, annotations }: ServiceReading,
  there: LoadBalancer,
): readonly Issue[] {
  const asked = [
    ["type", there.type],
    ["network", there.network],
    ["network-stack", there.network_stack],
    ["ip", there.ip],
    ["subnet-uuid", there.subnet_uuid ?? ""],
  ] as const;
  return asked.flatMap(([suffix, is]) => {
    const wanted = annotations[suffix];
    // It has no address before it is active.
    if (wanted === undefined || wanted === is || (suffix === "ip" && is === "")) return [];
    const field = formatAnnotationName(suffix);
    return [{ code: "LoadBalancerImmutable", field, value: service.metadata.annotations?.[field] }];
  });
}
