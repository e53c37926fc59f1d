import { annotationName } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { Reading } from "#clouds/digitalocean/load-balancers/wanted.ts";
import type { Problem } from "#core/service/model.ts";

/** What a Service explicitly asks to be otherwise than it was made, which cannot be changed any more; what it does not say stays. */
export function immutables({ service, annotations }: Reading, there: LoadBalancer): readonly Problem[] {
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
    const field = annotationName(suffix);
    return [{ code: "LoadBalancerImmutable", field, value: service.metadata.annotations?.[field] }];
  });
}
