import { findAnnotation } from "#clouds/oci/load-balancers/annotations/table.ts";
import { type BackendAddresses, createBody } from "#clouds/oci/load-balancers/bodies.ts";
import { buildAction, planNextBackendChange, planNextChange } from "#clouds/oci/load-balancers/changes.ts";
import {
  checkNamedGroups,
  chooseAddress,
  chooseSubnets,
  type LoadBalancerContext,
} from "#clouds/oci/load-balancers/choose-named.ts";
import { getConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import {
  type DesiredState,
  readDesiredState,
} from "#clouds/oci/load-balancers/desired-state/desired-state.ts";
import type { IpFamily } from "#clouds/oci/load-balancers/desired-state/ports.ts";
import { buildTags } from "#clouds/oci/load-balancers/desired-state/tags.ts";
import {
  decidePhase,
  isOurs,
  reject,
  rejectTypeChange,
  wait,
  waitWhileBusy,
} from "#clouds/oci/load-balancers/phase.ts";
import {
  findManagedGroup,
  planGroupsAfter,
  planGroupsBefore,
  removeGroups,
} from "#clouds/oci/load-balancers/plan-security.ts";
import type { Balancer, ObservedBalancer, OciState } from "#clouds/oci/load-balancers/state.ts";
import { MAX_BACKENDS, selectBackends } from "#clouds/oci/load-balancers/targets.ts";
import type {
  Issue,
  LoadBalancerAction,
  LoadBalancerQuestion,
  LoadBalancerStep,
} from "#core/service/model.ts";
import type { Ingress } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** Returns the next step for a Service's load balancer from the observation. */
export function plan(question: LoadBalancerQuestion, state: OciState, settings: Settings): LoadBalancerStep {
  if (state.isOrdered === true) return wait("Ordered", "OCI is at what was ordered");
  if (state.several !== undefined) {
    const detail = `several load balancers have the name of the Service's: ${state.several.join(", ")}`;
    return reject({ code: "NameTaken", detail });
  }
  const context = {
    service: question.service,
    configuration: getConfiguration(settings),
    cluster: settings.cluster,
  };
  return question.wanted ? ensure(question, state, { ...context, settings }) : remove(state, context);
}

function ensure(
  question: LoadBalancerQuestion,
  state: OciState,
  context: LoadBalancerContext & { readonly settings: Settings },
): LoadBalancerStep {
  const read = readDesiredState(question.service, context.settings);
  if (read.kind === "refused") return read;
  const { desired } = read;
  const other = state.found.find(({ kind, balancer }) => kind !== desired.kind && isOurs(balancer, context));
  if (other !== undefined) return rejectTypeChange(other, context);
  const observed = state.found.find(({ kind }) => kind === desired.kind);
  const phase = observed === undefined ? undefined : decidePhase(observed, desired, context);
  if (phase !== undefined) return phase;
  const { isTooMany, ...addresses } = selectBackends(question, state);
  const warnings = [
    ...desired.warnings,
    ...(isTooMany ? [TOO_MANY] : []),
    ...desired.families.flatMap((family) => (addresses[family] === undefined ? [WITHOUT_NODES[family]] : [])),
  ];
  const backendIssue = checkBackends(question, desired, addresses);
  if (backendIssue !== undefined) return reject(backendIssue);
  const { ports } = desired;
  if (observed !== undefined && question.onlyTargets === true) {
    const change = planNextBackendChange({ ports, addresses }, observed);
    return change === undefined
      ? buildSettled(observed, desired, warnings)
      : { ...buildChangeStep(change, observed), onlyTargets: true };
  }
  if (observed !== undefined && observed.failure === undefined) {
    const change = planNextBackendChange({ ports, addresses, keepsNodePorts: true }, observed);
    if (change !== undefined) return buildChangeStep(change, observed);
  }
  const groupIssue = checkNamedGroups(desired, state, context);
  if (groupIssue !== undefined) return reject(groupIssue);
  // Reasons for a rejection are checked before anything is created.
  const place = observed === undefined ? choosePlace(desired, state, context) : undefined;
  if (place?.kind === "refused") return place;
  const groupStep = planGroupsBefore(desired, state, context);
  if (groupStep !== undefined) return groupStep;
  const managedGroup = desired.mode === "NSG" ? findManagedGroup(state, context)?.group.id : undefined;
  const groups = [
    ...(desired.annotationSettings.securityGroups ?? []),
    ...(managedGroup === undefined ? [] : [managedGroup]),
  ];
  if (observed === undefined) {
    const tags = buildTags(
      context.service,
      desired.annotationSettings,
      context.configuration,
      context.cluster,
    );
    const { subnets = [], reservedIp } = place ?? {};
    return create(desired, createBody(desired, addresses, { subnets, groups, reservedIp, tags }), context);
  }
  const change = planNextChange({ desired, addresses, groups }, observed);
  if (change !== undefined) {
    if (observed.failure === undefined) return buildChangeStep(change, observed);
    return reject({ code: "LoadBalancerRefused", detail: `${change.action} after ${observed.failure}` });
  }
  const next = planGroupsAfter(desired, state, context);
  // The Service is served. Only rules that it no longer needs are left.
  if (next?.kind === "refused") return buildSettled(observed, desired, [...warnings, next.issue]);
  return next ?? buildSettled(observed, desired, warnings);
}

/** Chooses the place of a new load balancer: its subnets, and its address if the Service names one. */
function choosePlace(desired: DesiredState, state: OciState, context: LoadBalancerContext) {
  const subnets = chooseSubnets(desired, state, context);
  if (subnets.kind === "refused") return subnets;
  const address = chooseAddress(state, context);
  if (address.kind === "refused") return address;
  return { kind: "chosen", subnets: subnets.subnets, reservedIp: address.id } as const;
}

/** If a cluster has nodes but none can be a target, the existing load balancer stays unchanged. */
function checkBackends(
  { nodes, service }: LoadBalancerQuestion,
  { families, kind, annotationSettings }: DesiredState,
  addresses: BackendAddresses,
): Issue | undefined {
  if (nodes.length === 0 || families.some((family) => addresses[family] !== undefined)) return undefined;
  if (annotationSettings.nodeLabelSelector !== undefined) {
    const field = findAnnotation(kind, "nodeLabelSelector");
    const allowed = "a label selector that some nodes are chosen by";
    return { code: "InvalidAnnotation", field, value: service.metadata.annotations?.[field], allowed };
  }
  if (families.includes("IPv6")) return WITHOUT_NODES.IPv6;
  return {
    code: "LoadBalancerRefused",
    detail: `none of ${nodes.length} nodes is an instance of the cluster with an address`,
  };
}

function remove(state: OciState, context: LoadBalancerContext): LoadBalancerStep {
  const observed = state.found.find(({ balancer }) => isOurs(balancer, context));
  if (observed !== undefined)
    return (
      waitWhileBusy(observed) ?? buildChangeStep(buildAction(observed, "DeleteLoadBalancer", {}), observed)
    );
  return removeGroups(state, context) ?? { kind: "settled", ingress: [], warnings: [] };
}

function create(
  desired: DesiredState,
  body: Readonly<Record<string, unknown>>,
  { service }: LoadBalancerContext,
): LoadBalancerStep {
  const message = `${desired.ports.length} listeners, ${desired.displayName}`;
  return {
    kind: "act",
    because: { code: "CreateLoadBalancer", message },
    actions: [
      {
        action: `${desired.kind}:CreateLoadBalancer`,
        target: desired.displayName,
        parameters: { body, retryToken: service.metadata.uid },
      },
    ],
  };
}

function buildChangeStep(change: LoadBalancerAction, { balancer }: ObservedBalancer) {
  const because = { code: change.action.replace(/^.*:/, ""), message: balancer.id };
  return { kind: "act", because, actions: [change] } as const satisfies LoadBalancerStep;
}

function buildSettled(
  { balancer }: ObservedBalancer,
  desired: DesiredState,
  warnings: readonly Issue[],
): LoadBalancerStep {
  return { kind: "settled", ingress: buildIngress(balancer, desired), warnings };
}

/** Clients of this family reach no node, or only the nodes that a backend set has kept. */
const WITHOUT_NODES: Readonly<Record<IpFamily, Issue>> = {
  IPv4: {
    code: "IPFamilies",
    field: "spec.ipFamilies",
    allowed: "IPv6, unless the nodes have IPv4 addresses",
  },
  IPv6: {
    code: "IPFamilies",
    field: "spec.ipFamilies",
    allowed: "IPv4, unless the nodes have IPv6 addresses",
  },
};

const TOO_MANY: Issue = { code: "TooManyTargets", detail: `a backend set has room for ${MAX_BACKENDS}` };

/** Builds the addresses of a load balancer for a Service's status. */
function buildIngress({ ipAddresses }: Balancer, { annotationSettings }: DesiredState): readonly Ingress[] {
  const ipMode = annotationSettings.ingressIPMode?.toLowerCase() === "proxy" ? "Proxy" : "VIP";
  return (ipAddresses ?? [])
    .filter(({ isPublic }) => annotationSettings.externalIPOnly !== true || isPublic === true)
    .map(({ ipAddress }) => ({ ip: ipAddress, ipMode }));
}
