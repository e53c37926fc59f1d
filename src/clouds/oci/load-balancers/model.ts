import * as z from "zod";
import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import { getLoadBalancerKind } from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import { findAnnotation, getReader, PREFIXES } from "#clouds/oci/load-balancers/annotations/table.ts";
import { planNextBackendChange } from "#clouds/oci/load-balancers/changes.ts";
import { getConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import { readDesiredState, selectFamilies } from "#clouds/oci/load-balancers/desired-state/desired-state.ts";
import { readPorts } from "#clouds/oci/load-balancers/desired-state/ports.ts";
import { KINDS } from "#clouds/oci/load-balancers/names.ts";
import { ociOrphanModel } from "#clouds/oci/load-balancers/orphans/model.ts";
import { isOurs, wait, waitWhileBusy } from "#clouds/oci/load-balancers/phase.ts";
import { plan } from "#clouds/oci/load-balancers/plan.ts";
import {
  Group,
  type ObservedBalancer,
  type ObservedGroup,
  type OciState,
  Rule,
} from "#clouds/oci/load-balancers/state.ts";
import { isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import { selectBackends, selectTarget } from "#clouds/oci/load-balancers/targets.ts";
import { OCI_ERROR_CODES } from "#clouds/oci/read-error.ts";
import { SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { Issue, LoadBalancerAction, LoadBalancerModel } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** Changes with what is built from an unchanged Service, so that all Services are checked again. */
const VERSION = 1;

const QUOTA_CODES: ReadonlySet<string> = OCI_ERROR_CODES.Quota;

const AddedRules = z.object({ securityRules: z.array(Rule).nullish() });

const RemovedRules = z.object({ securityRuleIds: z.array(z.string()) });

/**
 * Returns the change that brings the next backend set to the nodes while another part of the Service is
 * rejected. Policy, health check and all other settings of the set stay as OCI shows them. OCI accepts one
 * change at a time, so the controller waits between changes. Undefined if the load balancer's ownership is
 * unproven, its label selector is invalid, or no node has an address.
 */
const followNodesOnOci: NonNullable<LoadBalancerModel["followNodes"]> = (question, observed, settings) => {
  // The observation comes from our own capability, which has parsed OCI's answers.
  const state = observed as OciState;
  const { service } = question;
  const context = { service, configuration: getConfiguration(settings), cluster: settings.cluster };
  if (state.several !== undefined) return undefined;
  if (state.isOrdered === true) return wait("Ordered", "OCI is at what was ordered");
  const [current, ...others] = state.found.filter(({ balancer }) => isOurs(balancer, context));
  if (current === undefined || others.length > 0 || !hasReadableSelector(current, service)) return undefined;
  const busy = waitWhileBusy(current);
  if (busy !== undefined) return busy;
  if (current.failure !== undefined) return undefined;
  const families = selectFamilies(current.kind, service);
  const ports = families === undefined ? undefined : readPorts(current.kind, service, {}, families);
  if (ports?.kind !== "read") return undefined;
  const addresses = selectBackends(question, state);
  const served = ports.ports.filter(
    // A backend set is never emptied.
    ({ backendSet, family }) =>
      current.balancer.backendSets?.[backendSet] !== undefined && (addresses[family]?.length ?? 0) > 0,
  );
  if (served.length === 0) return undefined;
  const change = planNextBackendChange({ ports: served, addresses }, current);
  return change === undefined ? [] : [change];
};

/**
 * The load balancer model of OCI: load balancers and network load balancers, created as the stock controller
 * does.
 */
export const ociLoadBalancerModel: LoadBalancerModel = {
  precheck({ service, wanted }, settings) {
    // Classes belong to other controllers, and so does everything if load balancers are disabled.
    const isOff = getConfiguration(settings).loadBalancer?.disabled === true;
    if (service.spec.loadBalancerClass !== undefined || isOff) return { kind: "foreign" };
    if (!wanted) return undefined;
    const read = readDesiredState(service, settings);
    return read.kind === "refused" ? read : undefined;
  },
  // The observation comes from our own capability, which has parsed OCI's answers.
  planStep: (question, observed, settings) => plan(question, observed as OciState, settings),
  isVisible(question, observed, { cluster }) {
    const kind = getLoadBalancerKind(question.service.metadata.annotations);
    const { found } = observed as OciState;
    return found.some(
      (each) => each.kind === kind && isOfCluster(each.balancer.freeformTags ?? undefined, cluster),
    );
  },
  followNodes: followNodesOnOci,
  listLostTargets(question, observed) {
    const state = observed as OciState;
    const { IPv4 = [], IPv6 = [] } = selectBackends(question, state);
    const desiredAddresses: ReadonlySet<unknown> = new Set([...IPv4, ...IPv6]);
    const backends = state.found.flatMap(({ balancer }) =>
      Object.values(balancer.backendSets ?? {}).flatMap((set) => set.backends ?? []),
    );
    // OCI identifies a backend by its address; its node is unknown.
    return backends.some(({ ipAddress }) => !desiredAddresses.has(ipAddress)) ? [undefined] : [];
  },
  applyResult: (observed, action, result) => applyResult(observed as OciState, action, result),
  toIssue: toIssue,
  // A load balancer that could not be created never served anyone: its group is removed again.
  needsRollback: ({ action }, observed) =>
    action.endsWith(":CreateLoadBalancer") && (observed as OciState).found.length === 0,
  describeDesired: describeDesired,
  orphans: ociOrphanModel,
  getTarget: selectTarget,
};

/** Describes a Service's resources on OCI for people. */
export function describeOnOci(
  _service: Service,
  state: unknown,
  { cluster }: Settings,
): DescribedLoadBalancer {
  // The observation comes from our own capability, which has parsed OCI's answers.
  const { found, several, groups } = state as OciState;
  const isOurs = found.some(({ balancer }) => isOfCluster(balancer.freeformTags ?? undefined, cluster));
  const isAny = found.length > 0 || several !== undefined;
  return {
    belongsTo: isOurs ? "service" : isAny ? "other" : "none",
    lines: [
      ...found.flatMap(describeBalancer),
      ...(several === undefined ? [] : [`several of one name: ${several.join(", ")}`]),
      ...groups.map(({ group, rules }) => `network security group ${group.id}: ${rules.length} rules`),
    ],
  };
}

/**
 * Returns as one text all that determines a Service's load balancer, except its targets and OCI's own values.
 */
function describeDesired({ metadata, spec }: Service, { cluster, cloud }: Settings): string {
  const { namespace, name, uid } = metadata;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => key === SOURCE_RANGES_ANNOTATION || PREFIXES.some((prefix) => key.startsWith(prefix)),
  );
  return formatCanonicalJson([
    VERSION,
    namespace,
    name,
    uid,
    Object.fromEntries(annotations),
    spec,
    cluster,
    cloud,
  ]);
}

/**
 * Returns what a rejection of an action means for a user, by OCI's own code; undefined if no user can fix it.
 */
export function toIssue(
  { action }: LoadBalancerAction,
  { reason = "" }: { readonly reason: string | undefined },
  { metadata: { annotations } }: Service,
): Issue | undefined {
  if (QUOTA_CODES.has(reason)) return { code: "QuotaExceeded" };
  if (action.endsWith(":CreateRuleSet") || action.endsWith(":UpdateRuleSet")) {
    const field = findAnnotation(getLoadBalancerKind(annotations), "ruleSets");
    return reason === "InvalidParameter"
      ? {
          code: "InvalidAnnotation",
          field,
          value: annotations?.[field],
          allowed: "rule sets that the API takes",
        }
      : undefined;
  }
  return undefined;
}

/**
 * Returns the state after one of our actions. For load balancers a change was ordered; groups and rules
 * change at once.
 */
function applyResult(
  state: OciState,
  { action, target, parameters }: LoadBalancerAction,
  result: unknown,
): OciState {
  switch (action) {
    case "vcn:CreateNetworkSecurityGroup": {
      const group = Group.safeParse(result).data;
      return group === undefined
        ? { ...state, isOrdered: true }
        : { ...state, groups: [...state.groups, { group, rules: [] }] };
    }
    case "vcn:MarkNetworkSecurityGroup":
      return state;
    case "vcn:DeleteNetworkSecurityGroup":
      return { ...state, groups: state.groups.filter(({ group }) => group.id !== target) };
    case "vcn:AddSecurityRules": {
      const added = AddedRules.safeParse(result).data?.securityRules;
      if (added == null) return { ...state, isOrdered: true };
      return withRules(state, target, (rules) => [...rules, ...added]);
    }
    case "vcn:RemoveSecurityRules": {
      const gone = new Set(RemovedRules.parse(parameters["body"]).securityRuleIds);
      return withRules(state, target, (rules) => rules.filter(({ id }) => id == null || !gone.has(id)));
    }
    default:
      return { ...state, isOrdered: true };
  }
}

function withRules(
  state: OciState,
  id: string,
  change: (rules: readonly Rule[]) => readonly Rule[],
): OciState {
  const changed = (observed: ObservedGroup): ObservedGroup =>
    observed.group.id === id ? { ...observed, rules: change(observed.rules) } : observed;
  const named = Object.entries(state.named).map(([key, observed]) => [
    key,
    observed === null ? null : changed(observed),
  ]);
  return { ...state, groups: state.groups.map(changed), named: Object.fromEntries(named) };
}

/** An invalid selector would select every node. */
function hasReadableSelector({ kind }: ObservedBalancer, { metadata }: Service): boolean {
  const written = metadata.annotations?.[findAnnotation(kind, "nodeLabelSelector")]?.trim() ?? "";
  return written === "" || getReader("nodeLabelSelector")(written).ok;
}

function describeBalancer({ kind, balancer, isBusy, failure }: ObservedBalancer): readonly string[] {
  const addresses = (balancer.ipAddresses ?? []).map(({ ipAddress }) => ipAddress);
  const listeners = Object.entries(balancer.listeners ?? {});
  const sets = Object.entries(balancer.backendSets ?? {});
  return [
    `${KINDS[kind]} ${balancer.id}, ${balancer.lifecycleState}, at ${addresses.join(", ") || "no address yet"}`,
    ...listeners.map(
      ([name, { protocol, port, defaultBackendSetName }]) =>
        `listener ${name}: ${protocol}:${port} to ${defaultBackendSetName}`,
    ),
    ...sets.map(([name, { backends }]) => `backend set ${name}: ${(backends ?? []).length} backends`),
    ...(isBusy ? ["a work request is not done"] : []),
    ...(failure === undefined ? [] : [failure]),
  ];
}
