import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import {
  isAllowed,
  type LoadBalancerConfiguration,
} from "#clouds/digitalocean/load-balancers/configuration.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Whose a load balancer is. Only what tenants cannot write counts: its tags, its region and network, a name that holds the uid of the
 * Service, and what the operator lists. `cluster`: it is the cluster's, by its tag or as `allow.loadBalancers` lists it; `other`: it may
 * be anybody's in the account.
 */
export type Belonging = "service" | "cluster" | "other";

/** By what a load balancer is known. */
export type Owner = Pick<LoadBalancerConfiguration, "region" | "vpc" | "clusterID"> & {
  readonly allow?: Pick<LoadBalancerConfiguration["allow"], "loadBalancers">;
};

/** Whose a load balancer is, as seen by a Service. */
export function belongingOf(balancer: LoadBalancer, service: Service, owner: Owner): Belonging {
  if (!isInPlace(balancer, owner)) return "other";
  const ofCluster = isTagged(balancer, owner);
  if (!ofCluster && balancer.tags.some((tag) => tag.startsWith(CLUSTER_TAG_PREFIX))) return "other";
  if (balancer.tags.includes(serviceTagOf(service))) return "service";
  // Whoever chooses a name must not choose that of somebody else's.
  if (isNamedByUid(balancer.name, service) && !isOfSomeService(balancer)) return "service";
  return ofCluster || isListed(balancer, owner) ? "cluster" : "other";
}

/**
 * Whether the operator lets the cluster's Services name a load balancer that carries no cluster's tag. A name that is made of another
 * Service's uid is not matched by names, which may end in `*`: such a load balancer is listed by its id.
 */
function isListed({ id, name }: LoadBalancer, { allow }: Owner): boolean {
  const allowed = allow?.loadBalancers ?? [];
  return allowed.includes(id) || (!isDefaultName(name) && isAllowed(allowed, id, name));
}

/** Whether it is in the cluster's region, and in its network where that is configured. */
export function isInPlace(balancer: LoadBalancer, { region, vpc }: Owner): boolean {
  return balancer.region === region && (vpc === undefined || !balancer.vpc_uuid || balancer.vpc_uuid === vpc);
}

/** Whether it carries the cluster's tag. */
export function isTagged({ tags }: LoadBalancer, { clusterID }: Pick<Owner, "clusterID">): boolean {
  return clusterID !== undefined && tags.includes(clusterTagOf(clusterID));
}

/**
 * Whether it is the cluster's alone by its tags: one that carries another cluster's, too, may be on its way there, and nobody takes it
 * for an orphan.
 */
export function isOfClusterAlone(balancer: LoadBalancer, owner: Owner): boolean {
  const clusters = balancer.tags.filter((tag) => tag.startsWith(CLUSTER_TAG_PREFIX));
  return isInPlace(balancer, owner) && isTagged(balancer, owner) && clusters.length === 1;
}

/** The uid of the Service that it was made for, without dashes, as far as name or tag tell. */
export function uidOf({ name, tags }: LoadBalancer): string | undefined {
  const tag = tags.find((each) => each.startsWith(SERVICE_TAG_PREFIX));
  if (tag !== undefined) return tag.slice(SERVICE_TAG_PREFIX.length).replaceAll("-", "") || undefined;
  return isDefaultName(name) ? name.slice(1) : undefined;
}

/** Whether it was made for a certain Service by its tag, whichever that is. */
export function isOfSomeService({ tags }: LoadBalancer): boolean {
  return tags.some((tag) => tag.startsWith(SERVICE_TAG_PREFIX));
}

/** The name that a Service's load balancer has where no annotation names it; nobody else's has it. */
export function defaultNameOf({ metadata: { uid } }: Pick<Service, "metadata">): string {
  return `a${uid.replaceAll("-", "")}`.slice(0, 32);
}

/** Whether a name tells that it is this Service's: an API server may hand out uids that with an `a` before them are what people call things. */
export function isNamedByUid(name: string, service: Pick<Service, "metadata">): boolean {
  return isDefaultName(name) && name === defaultNameOf(service);
}

/** Whether a name may be that of some Service by its uid. */
export function isDefaultName(name: string): boolean {
  return /^a[0-9a-f]{31}$/.test(name);
}

/** The tag by which the load balancers of a cluster are known. */
export function clusterTagOf(clusterID: string): string {
  return `${CLUSTER_TAG_PREFIX}${clusterID}`;
}

/** The tag by which one is known that does not have its Service's own name. */
export function serviceTagOf({ metadata: { uid } }: Pick<Service, "metadata">): string {
  return `${SERVICE_TAG_PREFIX}${uid.replace(/[^\w-]/g, "-").slice(0, 200)}`;
}

const CLUSTER_TAG_PREFIX = "k8s:";
const SERVICE_TAG_PREFIX = "k8s-service:";
