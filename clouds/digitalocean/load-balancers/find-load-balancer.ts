import {
  formatAnnotationName,
  ID_ANNOTATION,
} from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import { ANNOTATIONS, UUID } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import {
  classifyOwnership,
  formatDefaultName,
  isInPlace,
  isOfSomeService,
  type Owner,
} from "#clouds/digitalocean/load-balancers/ownership.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** The load balancer that may be changed for a Service, if there is one. */
export type LoadBalancerMatch =
  | { readonly kind: "own"; readonly balancer: LoadBalancer }
  | { readonly kind: "none" }
  | { readonly kind: "refused"; readonly issue: Issue };

/**
 * Finds the load balancer of a Service: by the id in its annotation, else by name. A load balancer that an
 * annotation names needs proof of ownership that tenants cannot write.
 */
export function findLoadBalancer(
  service: Service,
  balancers: readonly LoadBalancer[],
  owner: Owner,
): LoadBalancerMatch {
  const id = getAnnotatedId(service);
  const byId = balancers.find((balancer) => balancer.id === id);
  if (byId !== undefined) {
    if (classifyOwnership(byId, service, owner) !== "other") return { kind: "own", balancer: byId };
    return buildForeign(ID_ANNOTATION, service, byId);
  }
  const sameName = balancers.filter(({ name }) => listNames(service).includes(name));
  const [own, ...more] = sameName.filter((balancer) => isMatch(balancer, service, owner));
  if (own !== undefined && more.length > 0) {
    const detail = [own, ...more].map((each) => each.id).join(" and ");
    return { kind: "refused", issue: { code: "AmbiguousLoadBalancer", detail } };
  }
  if (own !== undefined) return { kind: "own", balancer: own };
  const foreign = sameName.find((balancer) => isInPlace(balancer, owner));
  return foreign === undefined
    ? { kind: "none" }
    : buildForeign(formatAnnotationName("name"), service, foreign);
}

/** Selects all load balancers to remove for a Service that needs none. */
export function selectLoadBalancers(
  service: Service,
  balancers: readonly LoadBalancer[],
  owner: Owner,
): readonly LoadBalancer[] {
  const id = getAnnotatedId(service);
  const names = listNames(service);
  return balancers.filter((balancer) =>
    balancer.id === id
      ? classifyOwnership(balancer, service, owner) !== "other"
      : names.includes(balancer.name) && isMatch(balancer, service, owner),
  );
}

/** Returns the id in the annotation of a Service. */
export function getAnnotatedId({ metadata: { annotations } }: Pick<Service, "metadata">): string | undefined {
  const id = annotations?.[ID_ANNOTATION]?.trim() ?? "";
  return UUID.test(id) ? id : undefined;
}

/** Lists the possible names of a Service's load balancer: its default name, and the one in its annotation. */
export function listNames(service: Pick<Service, "metadata">): readonly string[] {
  const annotatedName = ANNOTATIONS.name(
    service.metadata.annotations?.[formatAnnotationName("name")]?.trim() ?? "",
  );
  return annotatedName.ok ? [formatDefaultName(service), annotatedName.value] : [formatDefaultName(service)];
}

/**
 * A name alone does not assign a load balancer of the cluster to the Service if it was created for another
 * one.
 */
function isMatch(balancer: LoadBalancer, service: Service, owner: Owner): boolean {
  const ownership = classifyOwnership(balancer, service, owner);
  return ownership === "service" || (ownership === "cluster" && !isOfSomeService(balancer));
}

function buildForeign(
  field: string,
  { metadata }: Service,
  { id, tags, region }: LoadBalancer,
): LoadBalancerMatch {
  const detail = `load balancer ${id} in ${region}, tagged ${tags.slice(0, 5).join(", ") || "with no tag"}`;
  const value = metadata.annotations?.[field];
  return { kind: "refused", issue: { code: "LoadBalancerForeign", field, value, detail } };
}
