import { findAnnotation, type SettingName, TYPE } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { LoadBalancerContext } from "#clouds/oci/load-balancers/choose-named.ts";
import type { DesiredState } from "#clouds/oci/load-balancers/desired-state/desired-state.ts";
import type { ObservedBalancer } from "#clouds/oci/load-balancers/state.ts";
import { CLUSTER_TAG, isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import { canonicalizeIp } from "#core/cidr.ts";
import type { Issue, LoadBalancerStep } from "#core/service/model.ts";

/** Decides what is known about a load balancer of the desired type before its state is compared. */
export function decidePhase(
  observed: ObservedBalancer,
  desired: DesiredState,
  context: LoadBalancerContext,
): LoadBalancerStep | undefined {
  const { balancer, kind } = observed;
  if (!isOurs(balancer, context)) {
    const detail = `${balancer.id} has the name of the Service's load balancer and not the free-form tag ${CLUSTER_TAG}=${context.cluster}`;
    return reject({ code: "NameTaken", detail });
  }
  const busy = waitWhileBusy(observed);
  if (busy !== undefined) return busy;
  if (kind === "lb" && balancer.lifecycleState === "FAILED") {
    const why = balancer.lifecycleDetails ?? observed.failure ?? "OCI does not say why";
    const detail = `${balancer.id} is FAILED: ${why.slice(0, MAX_MESSAGE_LENGTH)}`;
    return reject({ code: "LoadBalancerRefused", detail });
  }
  const issue = checkImmutable(observed, desired, context);
  return issue === undefined ? undefined : reject(issue);
}

/** Reports requested changes that an existing load balancer does not support. */
function checkImmutable(
  { balancer, kind }: ObservedBalancer,
  desired: DesiredState,
  { service: { metadata, spec } }: LoadBalancerContext,
): Issue | undefined {
  const buildIssue = (setting: SettingName, code: string): Issue => {
    const field = findAnnotation(kind, setting);
    return { code, field, value: metadata.annotations?.[field], allowed: AS_CREATED };
  };
  const addresses = (balancer.ipAddresses ?? []).map(
    ({ ipAddress }) => canonicalizeIp(ipAddress) ?? ipAddress,
  );
  const { assignedPrivateIPv4, assignedIPv6 } = desired.annotationSettings;
  if (balancer.compartmentId !== desired.compartment) return buildIssue("compartment", "InvalidAnnotation");
  if ((balancer.isPrivate ?? false) !== desired.isPrivate) return buildIssue("internal", "TypeChanged");
  if (spec.loadBalancerIP && !addresses.includes(canonicalizeIp(spec.loadBalancerIP) ?? spec.loadBalancerIP))
    return {
      code: "InvalidField",
      field: "spec.loadBalancerIP",
      value: spec.loadBalancerIP,
      allowed: AS_CREATED,
    };
  if (assignedPrivateIPv4 !== undefined && !addresses.includes(assignedPrivateIPv4))
    return buildIssue("assignedPrivateIPv4", "InvalidAnnotation");
  if (assignedIPv6 !== undefined && !addresses.includes(assignedIPv6))
    return buildIssue("assignedIPv6", "InvalidAnnotation");
  return undefined;
}

/** Maximum length of OCI's message that is repeated. */
const MAX_MESSAGE_LENGTH = 300;

const AS_CREATED = "what it was when the load balancer was made";

type WaitStep = Extract<LoadBalancerStep, { readonly kind: "wait" }>;

/** Waits while OCI applies a change, because it accepts no other one. */
export function waitWhileBusy({ balancer, isBusy }: ObservedBalancer): WaitStep | undefined {
  const { id, lifecycleState } = balancer;
  if (BUSY.has(lifecycleState)) return wait(lifecycleState, `${id} is ${lifecycleState}`);
  return isBusy ? wait("WorkRequest", `a work request of ${id} is not done`) : undefined;
}

const BUSY: ReadonlySet<string> = new Set(["CREATING", "UPDATING", "DELETING"]);

/** Rejects a change of the Service's load balancer type. */
export function rejectTypeChange(
  other: ObservedBalancer,
  { service: { metadata } }: LoadBalancerContext,
): LoadBalancerStep {
  const busy = other.balancer.lifecycleState === "DELETING" ? waitWhileBusy(other) : undefined;
  if (busy !== undefined) return busy;
  const allowed = `what it was when the load balancer was made, which is ${other.kind}`;
  return reject({ code: "TypeChanged", field: TYPE, value: metadata.annotations?.[TYPE], allowed });
}

/** Whether a load balancer belongs to the cluster by its tags. */
export function isOurs(
  { freeformTags }: ObservedBalancer["balancer"],
  { cluster }: LoadBalancerContext,
): boolean {
  return isOfCluster(freeformTags ?? undefined, cluster);
}

/** Rejects the Service until someone fixes the issue. */
export function reject(issue: Issue): LoadBalancerStep {
  return { kind: "refused", issue };
}

/** Waits for OCI, at least as long as a change of a load balancer takes. */
export function wait(code: string, message: string): WaitStep {
  return { kind: "wait", because: { code, message }, afterSeconds: 10 };
}
