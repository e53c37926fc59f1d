import type { LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { Service } from "#core/service/service.ts";

/** OCI's terms for the types of Services' resources. */
export const KINDS = { lb: "load balancer", nlb: "network load balancer" } as const;
export const GROUP = "network security group";

/** Formats the display name by which a Service's load balancer is found again. */
export function formatDisplayName(
  kind: LoadBalancerKind,
  { namespace, name, uid }: Pick<Service["metadata"], "namespace" | "name" | "uid">,
  prefix: string | undefined,
): string {
  if (kind === "nlb") return `${namespace}/${name}/${uid}`;
  return prefix === undefined || prefix === "" ? uid : `${prefix}-${uid}`;
}

/**
 * Whether a uid may be part of a name. The API server's uids are UUIDs, and others must not control paths or
 * queries.
 */
export function isUsableUid(uid: string): boolean {
  return /^[A-Za-z0-9-]{1,64}$/.test(uid);
}

/** Formats the display name of a Service's managed network security group. */
export function formatGroupName({ uid }: Pick<Service["metadata"], "uid">): string {
  return uid;
}
