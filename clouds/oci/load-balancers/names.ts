import type { LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { Service } from "#core/service/service.ts";

/** The kinds of what there is for Services, in OCI's words. */
export const KINDS = { lb: "load balancer", nlb: "network load balancer" } as const;
export const GROUP = "network security group";

/** The display name of a Service's load balancer, by which it is found again. */
export function displayNameOf(
  kind: LoadBalancerKind,
  { namespace, name, uid }: Pick<Service["metadata"], "namespace" | "name" | "uid">,
  prefix: string | undefined,
): string {
  if (kind === "nlb") return `${namespace}/${name}/${uid}`;
  return prefix === undefined || prefix === "" ? uid : `${prefix}-${uid}`;
}

/** Whether something can be named after a uid; the API server's are UUIDs, and whoever writes his own does not choose paths or queries. */
export function isUsableUid(uid: string): boolean {
  return /^[A-Za-z0-9-]{1,64}$/.test(uid);
}

/** The display name of the managed network security group of a Service. */
export function groupNameOf({ uid }: Pick<Service["metadata"], "uid">): string {
  return uid;
}
