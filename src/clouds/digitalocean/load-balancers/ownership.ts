import {
  ANNOTATIONS,
  formatAnnotationName,
  ID_ANNOTATION,
  UUID,
} from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { isAllowed, type LoadBalancerConfiguration } from "#clouds/digitalocean/load-balancers/state.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * The owner of a load balancer. Only facts that tenants cannot write count: tags, region and network, a name
 * with the Service's uid, and the operator's list. `cluster`: the cluster's, by its tag or in
 * `allow.loadBalancers`; `other`: possibly foreign.
 */
export type OwnershipLevel = "service" | "cluster" | "other";

/** Criteria for ownership. */
export type Owner = Pick<LoadBalancerConfiguration, "region" | "vpc" | "clusterID"> & {
  readonly allow?: Pick<LoadBalancerConfiguration["allow"], "loadBalancers">;
};

/** Returns the owner of a load balancer as seen from a Service. */
export function classifyOwnership(balancer: LoadBalancer, service: Service, owner: Owner): OwnershipLevel {
  if (!isInPlace(balancer, owner)) return "other";
  const hasClusterTag = isTagged(balancer, owner);
  if (!hasClusterTag && balancer.tags.some((tag) => tag.startsWith(CLUSTER_TAG_PREFIX))) return "other";
  if (balancer.tags.includes(formatServiceTag(service))) return "service";
  // A chosen name must not be another Service's derived name.
  if (isNamedByUid(balancer.name, service) && !isOfSomeService(balancer)) return "service";
  return hasClusterTag || isListed(balancer, owner) ? "cluster" : "other";
}

/**
 * Whether the operator allows the cluster's Services to name a load balancer without a cluster tag. Patterns
 * with `*` do not match a name with another Service's uid; such a load balancer is listed by id.
 */
function isListed({ id, name }: LoadBalancer, { allow }: Owner): boolean {
  const allowed = allow?.loadBalancers ?? [];
  return allowed.includes(id) || (!isDefaultName(name) && isAllowed(allowed, id, name));
}

/** Whether it is in the cluster's region, and in its network if one is configured. */
export function isInPlace(balancer: LoadBalancer, { region, vpc }: Owner): boolean {
  return balancer.region === region && (vpc === undefined || !balancer.vpc_uuid || balancer.vpc_uuid === vpc);
}

/** Whether it carries the cluster's tag. */
export function isTagged({ tags }: LoadBalancer, { clusterID }: Pick<Owner, "clusterID">): boolean {
  return clusterID !== undefined && tags.includes(formatClusterTag(clusterID));
}

/**
 * Whether only this cluster owns it by its tags. One with another cluster's tag too may be moving there, and
 * is never an orphan.
 */
export function isOfClusterAlone(balancer: LoadBalancer, owner: Owner): boolean {
  const clusters = balancer.tags.filter((tag) => tag.startsWith(CLUSTER_TAG_PREFIX));
  return isInPlace(balancer, owner) && isTagged(balancer, owner) && clusters.length === 1;
}

/** Returns the uid of its Service, without dashes, as far as name or tag show it. */
export function getServiceUid({ name, tags }: LoadBalancer): string | undefined {
  const tag = tags.find((each) => each.startsWith(SERVICE_TAG_PREFIX));
  if (tag !== undefined) return tag.slice(SERVICE_TAG_PREFIX.length).replaceAll("-", "") || undefined;
  return isDefaultName(name) ? name.slice(1) : undefined;
}

/** Whether its tag names any Service. */
export function isOfSomeService({ tags }: LoadBalancer): boolean {
  return tags.some((tag) => tag.startsWith(SERVICE_TAG_PREFIX));
}

/** Formats the default name of a Service's load balancer; no other Service has it. */
export function formatDefaultName({ metadata: { uid } }: Pick<Service, "metadata">): string {
  return `a${uid.replaceAll("-", "")}`.slice(0, 32);
}

/**
 * Whether a name proves that it belongs to this Service. An API server may assign uids that form common names
 * with an `a` before them.
 */
export function isNamedByUid(name: string, service: Pick<Service, "metadata">): boolean {
  return isDefaultName(name) && name === formatDefaultName(service);
}

/** Whether a name may contain a Service's uid. */
export function isDefaultName(name: string): boolean {
  return /^a[0-9a-f]{31}$/.test(name);
}

/** Formats the tag that identifies the load balancers of a cluster. */
export function formatClusterTag(clusterID: string): string {
  return `${CLUSTER_TAG_PREFIX}${clusterID}`;
}

/** Formats the tag that identifies a load balancer without its Service's default name. */
export function formatServiceTag({ metadata: { uid } }: Pick<Service, "metadata">): string {
  return `${SERVICE_TAG_PREFIX}${uid.replace(/[^\w-]/g, "-").slice(0, 200)}`;
}

const CLUSTER_TAG_PREFIX = "k8s:";

const SERVICE_TAG_PREFIX = "k8s-service:";

/** The load balancer that may be changed for a Service, if there is one. */
type LoadBalancerMatch =
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
