import { annotationName, ID_ANNOTATION } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import { ANNOTATIONS, UUID } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import {
  belongingOf,
  defaultNameOf,
  isInPlace,
  isOfSomeService,
  type Owner,
} from "#clouds/digitalocean/load-balancers/belonging.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** The load balancer of a Service, if there is one that may be changed for it. */
export type Own =
  | { readonly kind: "own"; readonly balancer: LoadBalancer }
  | { readonly kind: "none" }
  | { readonly kind: "refused"; readonly problem: Problem };

/**
 * Finds the load balancer of a Service: by the id in its annotation, else by name. What an annotation names is taken only where it can be
 * told, by what tenants cannot write, to be the cluster's.
 */
export function ownOf(service: Service, balancers: readonly LoadBalancer[], owner: Owner): Own {
  const id = idOf(service);
  const byId = balancers.find((balancer) => balancer.id === id);
  if (byId !== undefined) {
    if (belongingOf(byId, service, owner) !== "other") return { kind: "own", balancer: byId };
    return foreign(ID_ANNOTATION, service, byId);
  }
  const named = balancers.filter(({ name }) => namesOf(service).includes(name));
  const [own, ...more] = named.filter((balancer) => isMatch(balancer, service, owner));
  if (own !== undefined && more.length > 0) {
    const detail = [own, ...more].map((each) => each.id).join(" and ");
    return { kind: "refused", problem: { code: "AmbiguousLoadBalancer", detail } };
  }
  if (own !== undefined) return { kind: "own", balancer: own };
  const others = named.find((balancer) => isInPlace(balancer, owner));
  return others === undefined ? { kind: "none" } : foreign(annotationName("name"), service, others);
}

/** All load balancers that go with a Service that wants none. */
export function allOwnOf(
  service: Service,
  balancers: readonly LoadBalancer[],
  owner: Owner,
): readonly LoadBalancer[] {
  const id = idOf(service);
  const names = namesOf(service);
  return balancers.filter((balancer) =>
    balancer.id === id
      ? belongingOf(balancer, service, owner) !== "other"
      : names.includes(balancer.name) && isMatch(balancer, service, owner),
  );
}

/** The id that the annotation of a Service names. */
export function idOf({ metadata: { annotations } }: Pick<Service, "metadata">): string | undefined {
  const id = annotations?.[ID_ANNOTATION]?.trim() ?? "";
  return UUID.test(id) ? id : undefined;
}

/** The names that the load balancer of a Service may have: its own, and the one that its annotation asks for. */
export function namesOf(service: Pick<Service, "metadata">): readonly string[] {
  const asked = ANNOTATIONS.name(service.metadata.annotations?.[annotationName("name")]?.trim() ?? "");
  return asked.ok ? [defaultNameOf(service), asked.value] : [defaultNameOf(service)];
}

/** A name alone does not make a load balancer of the cluster the Service's, where it was made for another one. */
function isMatch(balancer: LoadBalancer, service: Service, owner: Owner): boolean {
  const belonging = belongingOf(balancer, service, owner);
  return belonging === "service" || (belonging === "cluster" && !isOfSomeService(balancer));
}

function foreign(field: string, { metadata }: Service, { id, tags, region }: LoadBalancer): Own {
  const detail = `load balancer ${id} in ${region}, tagged ${tags.slice(0, 5).join(", ") || "with nothing"}`;
  const value = metadata.annotations?.[field];
  return { kind: "refused", problem: { code: "LoadBalancerForeign", field, value, detail } };
}
