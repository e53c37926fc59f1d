import { findAnnotation } from "#clouds/oci/load-balancers/annotations/table.ts";
import { createBody } from "#clouds/oci/load-balancers/bodies.ts";
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
import { buildTags } from "#clouds/oci/load-balancers/desired-state/tags.ts";
import { buildIngress } from "#clouds/oci/load-balancers/ingress.ts";
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
import type { ObservedBalancer, OciState } from "#clouds/oci/load-balancers/state.ts";
import { MAX_BACKENDS, selectBackends } from "#clouds/oci/load-balancers/targets.ts";
import type {
  Issue,
  LoadBalancerAction,
  LoadBalancerQuestion,
  LoadBalancerStep,
} from "#core/service/model.ts";
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
  const { wanted } = read;
  const other = state.found.find(({ kind, balancer }) => kind !== wanted.kind && isOurs(balancer, context));
  if (other !== undefined) return rejectTypeChange(other, context);
  const seen = state.found.find(({ kind }) => kind === wanted.kind);
  const phase = seen === undefined ? undefined : decidePhase(seen, wanted, context);
  if (phase !== undefined) return phase;
  const { isTooMany, ...addresses } = selectBackends(question, state.addresses);
  const warnings = [...wanted.warnings, ...(isTooMany ? [TOO_MANY] : [])];
  const noBackends = checkBackends(question, wanted, addresses);
  if (noBackends !== undefined) return reject(noBackends);
  if (seen !== undefined && question.onlyTargets === true) {
    const change = planNextBackendChange({ wanted, addresses, groups: undefined }, seen);
    return change === undefined
      ? buildSettled(seen, wanted, warnings)
      : { ...buildChangeStep(change, seen), onlyTargets: true };
  }
  const badGroup = checkNamedGroups(wanted, state, context);
  if (badGroup !== undefined) return reject(badGroup);
  // Reasons for a rejection are checked before anything is created.
  const place = seen === undefined ? choosePlace(wanted, state, context) : undefined;
  if (place?.kind === "refused") return place;
  const before = planGroupsBefore(wanted, state, context);
  if (before !== undefined) return before;
  const managed = wanted.mode === "NSG" ? findManagedGroup(state, context)?.group.id : undefined;
  const groups = [...(wanted.said.securityGroups ?? []), ...(managed === undefined ? [] : [managed])];
  if (seen === undefined) {
    const tags = buildTags(context.service, wanted.said, context.configuration, context.cluster);
    const { subnets = [], reservedIp } = place ?? {};
    return create(wanted, createBody(wanted, addresses, { subnets, groups, reservedIp, tags }), context);
  }
  const change = planNextChange({ wanted, addresses, groups }, seen);
  if (change !== undefined) {
    if (seen.failure === undefined) return buildChangeStep(change, seen);
    return reject({ code: "LoadBalancerRefused", detail: `${change.action} after ${seen.failure}` });
  }
  return planGroupsAfter(wanted, state, context) ?? buildSettled(seen, wanted, warnings);
}

/** Chooses the place of a new load balancer: its subnets, and its address if the Service names one. */
function choosePlace(wanted: DesiredState, state: OciState, context: LoadBalancerContext) {
  const subnets = chooseSubnets(wanted, state, context);
  if (subnets.kind === "refused") return subnets;
  const address = chooseAddress(state, context);
  if (address.kind === "refused") return address;
  return { kind: "chosen", subnets: subnets.subnets, reservedIp: address.id } as const;
}

/** If a cluster has nodes but none can be a target, the existing load balancer stays unchanged. */
function checkBackends(
  { nodes, service }: LoadBalancerQuestion,
  { families, kind, said }: DesiredState,
  addresses: Readonly<Record<string, readonly string[]>>,
): Issue | undefined {
  if (nodes.length === 0 || families.some((family) => (addresses[family]?.length ?? 0) > 0)) return undefined;
  if (said.nodeLabelSelector !== undefined) {
    const field = findAnnotation(kind, "nodeLabelSelector");
    const allowed = "a label selector that some nodes are chosen by";
    return { code: "InvalidAnnotation", field, value: service.metadata.annotations?.[field], allowed };
  }
  if (families.includes("IPv6")) return { code: "IPFamilies", field: "spec.ipFamilies" };
  return {
    code: "LoadBalancerRefused",
    detail: `none of ${nodes.length} nodes is an instance of the cluster with an address`,
  };
}

function remove(state: OciState, context: LoadBalancerContext): LoadBalancerStep {
  const seen = state.found.find(({ balancer }) => isOurs(balancer, context));
  if (seen !== undefined)
    return waitWhileBusy(seen) ?? buildChangeStep(buildAction(seen, "DeleteLoadBalancer", {}), seen);
  return removeGroups(state, context) ?? { kind: "settled", ingress: [], warnings: [] };
}

function create(
  wanted: DesiredState,
  body: Readonly<Record<string, unknown>>,
  { service }: LoadBalancerContext,
): LoadBalancerStep {
  const message = `${wanted.ports.length} listeners, ${wanted.displayName}`;
  return {
    kind: "act",
    because: { code: "CreateLoadBalancer", message },
    actions: [
      {
        action: `${wanted.kind}:CreateLoadBalancer`,
        target: wanted.displayName,
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
  wanted: DesiredState,
  warnings: readonly Issue[],
): LoadBalancerStep {
  return { kind: "settled", ingress: buildIngress(balancer, wanted), warnings };
}

const TOO_MANY: Issue = { code: "TooManyTargets", detail: `a backend set has room for ${MAX_BACKENDS}` };
