import { annotationOf, TYPE } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { Whose } from "#clouds/oci/load-balancers/choose-named.ts";
import type { SeenBalancer } from "#clouds/oci/load-balancers/state.ts";
import { CLUSTER_TAG, isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import type { Wanted } from "#clouds/oci/load-balancers/wanted/wanted.ts";
import { canonicalIp } from "#core/cidr.ts";
import type { LoadBalancerStep, Problem } from "#core/service/model.ts";

/** What can be said of a load balancer of the wanted kind before it is compared with what is wanted. */
export function standingOf(seen: SeenBalancer, wanted: Wanted, whose: Whose): LoadBalancerStep | undefined {
  const { balancer, kind } = seen;
  if (!isOurs(balancer, whose)) {
    const detail = `${balancer.id} has the name of the Service's load balancer and not the free-form tag ${CLUSTER_TAG}=${whose.cluster}`;
    return refused({ code: "NameTaken", detail });
  }
  const busy = busyWith(seen);
  if (busy !== undefined) return busy;
  if (kind === "lb" && balancer.lifecycleState === "FAILED") {
    const why = balancer.lifecycleDetails ?? seen.failure ?? "OCI does not say why";
    const detail = `${balancer.id} is FAILED: ${why.slice(0, MAX_WORDS)}`;
    return refused({ code: "LoadBalancerRefused", detail });
  }
  const problem = faultOfLasting(seen, wanted, whose);
  return problem === undefined ? undefined : refused(problem);
}

/** What cannot be changed of a load balancer that is there. */
function faultOfLasting(
  { balancer, kind }: SeenBalancer,
  wanted: Wanted,
  { service: { metadata, spec } }: Whose,
): Problem | undefined {
  const ofAnnotation = (saying: Parameters<typeof annotationOf>[1], code: string): Problem => {
    const field = annotationOf(kind, saying);
    return { code, field, value: metadata.annotations?.[field], allowed: AS_MADE };
  };
  const addresses = (balancer.ipAddresses ?? []).map(({ ipAddress }) => canonicalIp(ipAddress) ?? ipAddress);
  const { assignedPrivateIPv4, assignedIPv6 } = wanted.said;
  if (balancer.compartmentId !== wanted.compartment) return ofAnnotation("compartment", "InvalidAnnotation");
  if ((balancer.isPrivate ?? false) !== wanted.isPrivate) return ofAnnotation("internal", "TypeChanged");
  if (spec.loadBalancerIP && !addresses.includes(canonicalIp(spec.loadBalancerIP) ?? spec.loadBalancerIP))
    return {
      code: "InvalidField",
      field: "spec.loadBalancerIP",
      value: spec.loadBalancerIP,
      allowed: AS_MADE,
    };
  if (assignedPrivateIPv4 !== undefined && !addresses.includes(assignedPrivateIPv4))
    return ofAnnotation("assignedPrivateIPv4", "InvalidAnnotation");
  if (assignedIPv6 !== undefined && !addresses.includes(assignedIPv6))
    return ofAnnotation("assignedIPv6", "InvalidAnnotation");
  return undefined;
}

/** As much of OCI's own words as is repeated. */
const MAX_WORDS = 300;

const AS_MADE = "what it was when the load balancer was made";

type Waiting = Extract<LoadBalancerStep, { readonly kind: "wait" }>;

/** OCI is at it, and takes nothing else before that is done. */
export function busyWith({ balancer, isBusy }: SeenBalancer): Waiting | undefined {
  const { id, lifecycleState } = balancer;
  if (BUSY.has(lifecycleState)) return wait(lifecycleState, `${id} is ${lifecycleState}`);
  return isBusy ? wait("WorkRequest", `a work request of ${id} is not done`) : undefined;
}

const BUSY: ReadonlySet<string> = new Set(["CREATING", "UPDATING", "DELETING"]);

/** That a Service asks for another kind than what it has. */
export function typeChanged(other: SeenBalancer, { service: { metadata } }: Whose): LoadBalancerStep {
  const busy = other.balancer.lifecycleState === "DELETING" ? busyWith(other) : undefined;
  if (busy !== undefined) return busy;
  const allowed = `what it was when the load balancer was made, which is ${other.kind}`;
  return refused({ code: "TypeChanged", field: TYPE, value: metadata.annotations?.[TYPE], allowed });
}

/** Whether a load balancer is the cluster's by its tags. */
export function isOurs({ freeformTags }: SeenBalancer["balancer"], { cluster }: Whose): boolean {
  return isOfCluster(freeformTags ?? undefined, cluster);
}

/** Nothing is done until somebody mends it. */
export function refused(problem: Problem): LoadBalancerStep {
  return { kind: "refused", problem };
}

/** OCI is at it; a change of a load balancer takes it so long, at the least. */
export function wait(code: string, message: string): Waiting {
  return { kind: "wait", because: { code, message }, afterSeconds: 10 };
}
