import { annotationOf } from "#clouds/oci/load-balancers/annotations/table.ts";
import { createBody } from "#clouds/oci/load-balancers/bodies.ts";
import { action, nextChange, nextChangeOfBackends } from "#clouds/oci/load-balancers/changes.ts";
import {
  chooseAddress,
  chooseSubnets,
  faultOfGroups,
  type Whose,
} from "#clouds/oci/load-balancers/choose-named.ts";
import { configurationOf } from "#clouds/oci/load-balancers/configuration.ts";
import { ingressOf } from "#clouds/oci/load-balancers/ingress.ts";
import {
  groupsAfter,
  groupsBefore,
  managedGroup,
  removeGroups,
} from "#clouds/oci/load-balancers/plan-security.ts";
import {
  busyWith,
  isOurs,
  refused,
  standingOf,
  typeChanged,
  wait,
} from "#clouds/oci/load-balancers/standing.ts";
import type { OciState, SeenBalancer } from "#clouds/oci/load-balancers/state.ts";
import { backendsOf, MAX_BACKENDS } from "#clouds/oci/load-balancers/targets.ts";
import { readWanted, type Wanted } from "#clouds/oci/load-balancers/wanted/wanted.ts";
import { tagsOf } from "#clouds/oci/load-balancers/wanted/wanted-tags.ts";
import type {
  LoadBalancerAction,
  LoadBalancerQuestion,
  LoadBalancerStep,
  Problem,
} from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";

/** What is next for the load balancer of a Service, by what was seen of it. */
export function plan(question: LoadBalancerQuestion, state: OciState, settings: Settings): LoadBalancerStep {
  if (state.isOrdered === true) return wait("Ordered", "OCI is at what was ordered");
  if (state.several !== undefined) {
    const detail = `several load balancers have the name of the Service's: ${state.several.join(", ")}`;
    return refused({ code: "NameTaken", detail });
  }
  const whose = {
    service: question.service,
    configuration: configurationOf(settings),
    cluster: settings.cluster,
  };
  return question.wanted ? ensure(question, state, { ...whose, settings }) : remove(state, whose);
}

function ensure(
  question: LoadBalancerQuestion,
  state: OciState,
  whose: Whose & { readonly settings: Settings },
): LoadBalancerStep {
  const read = readWanted(question.service, whose.settings);
  if (read.kind === "refused") return read;
  const { wanted } = read;
  const other = state.found.find(({ kind, balancer }) => kind !== wanted.kind && isOurs(balancer, whose));
  if (other !== undefined) return typeChanged(other, whose);
  const seen = state.found.find(({ kind }) => kind === wanted.kind);
  const standing = seen === undefined ? undefined : standingOf(seen, wanted, whose);
  if (standing !== undefined) return standing;
  const { isTooMany, ...addresses } = backendsOf(question, state.addresses);
  const warnings = [...wanted.warnings, ...(isTooMany ? [TOO_MANY] : [])];
  const noBackends = faultOfBackends(question, wanted, addresses);
  if (noBackends !== undefined) return refused(noBackends);
  if (seen !== undefined && question.onlyTargets === true) {
    const change = nextChangeOfBackends({ wanted, addresses, groups: undefined }, seen);
    return change === undefined
      ? settled(seen, wanted, warnings)
      : { ...changed(change, seen), onlyTargets: true };
  }
  const badGroup = faultOfGroups(wanted, state, whose);
  if (badGroup !== undefined) return refused(badGroup);
  // What refuses it is looked for before anything is made for it.
  const place = seen === undefined ? choosePlace(wanted, state, whose) : undefined;
  if (place?.kind === "refused") return place;
  const before = groupsBefore(wanted, state, whose);
  if (before !== undefined) return before;
  const managed = wanted.mode === "NSG" ? managedGroup(state, whose)?.group.id : undefined;
  const groups = [...(wanted.said.securityGroups ?? []), ...(managed === undefined ? [] : [managed])];
  if (seen === undefined) {
    const tags = tagsOf(whose.service, wanted.said, whose.configuration, whose.cluster);
    const { subnets = [], reservedIp } = place ?? {};
    return create(wanted, createBody(wanted, addresses, { subnets, groups, reservedIp, tags }), whose);
  }
  const change = nextChange({ wanted, addresses, groups }, seen);
  if (change !== undefined) {
    if (seen.failure === undefined) return changed(change, seen);
    return refused({ code: "LoadBalancerRefused", detail: `${change.action} after ${seen.failure}` });
  }
  return groupsAfter(wanted, state, whose) ?? settled(seen, wanted, warnings);
}

/** Where a load balancer is to be made: its subnets, and its address where the Service says which. */
function choosePlace(wanted: Wanted, state: OciState, whose: Whose) {
  const subnets = chooseSubnets(wanted, state, whose);
  if (subnets.kind === "refused") return subnets;
  const address = chooseAddress(state, whose);
  if (address.kind === "refused") return address;
  return { kind: "chosen", subnets: subnets.subnets, reservedIp: address.id } as const;
}

/** No node of a cluster that has some can be sent to: what is there stays as it is. */
function faultOfBackends(
  { nodes, service }: LoadBalancerQuestion,
  { families, kind, said }: Wanted,
  addresses: Readonly<Record<string, readonly string[]>>,
): Problem | undefined {
  if (nodes.length === 0 || families.some((family) => (addresses[family]?.length ?? 0) > 0)) return undefined;
  if (said.nodeLabelSelector !== undefined) {
    const field = annotationOf(kind, "nodeLabelSelector");
    const allowed = "a label selector that some nodes are chosen by";
    return { code: "InvalidAnnotation", field, value: service.metadata.annotations?.[field], allowed };
  }
  if (families.includes("IPv6")) return { code: "IPFamilies", field: "spec.ipFamilies" };
  return {
    code: "LoadBalancerRefused",
    detail: `none of ${nodes.length} nodes is an instance of the cluster with an address`,
  };
}

function remove(state: OciState, whose: Whose): LoadBalancerStep {
  const seen = state.found.find(({ balancer }) => isOurs(balancer, whose));
  if (seen !== undefined) return busyWith(seen) ?? changed(action(seen, "DeleteLoadBalancer", {}), seen);
  return removeGroups(state, whose) ?? { kind: "settled", ingress: [], warnings: [] };
}

function create(
  wanted: Wanted,
  body: Readonly<Record<string, unknown>>,
  { service }: Whose,
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

function changed(change: LoadBalancerAction, { balancer }: SeenBalancer) {
  const because = { code: change.action.replace(/^.*:/, ""), message: balancer.id };
  return { kind: "act", because, actions: [change] } as const satisfies LoadBalancerStep;
}

function settled({ balancer }: SeenBalancer, wanted: Wanted, warnings: readonly Problem[]): LoadBalancerStep {
  return { kind: "settled", ingress: ingressOf(balancer, wanted), warnings };
}

const TOO_MANY: Problem = { code: "TooManyTargets", detail: `a backend set has room for ${MAX_BACKENDS}` };
