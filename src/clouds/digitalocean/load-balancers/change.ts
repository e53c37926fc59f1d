import { formatAnnotationName } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { type Body, buildReplaceBody, listDifferences } from "#clouds/digitalocean/load-balancers/body.ts";
import type { DesiredState, ServiceReading } from "#clouds/digitalocean/load-balancers/desired-state.ts";
import {
  type Kind,
  rejectUnreachable,
  reportExcludedNodes,
  selectEligible,
} from "#clouds/digitalocean/load-balancers/eligible-targets.ts";
import { planUnmark } from "#clouds/digitalocean/load-balancers/orphans/model.ts";
import {
  classifyOwnership,
  formatClusterTag,
  formatDefaultName,
  isTagged,
} from "#clouds/digitalocean/load-balancers/ownership.ts";
import type {
  DigitalOceanState,
  LoadBalancerConfiguration,
  TargetDroplet,
} from "#clouds/digitalocean/load-balancers/state.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { Issue, LoadBalancerStep } from "#core/service/model.ts";
import type { Ingress } from "#core/service/service.ts";

/** Brings an existing load balancer to its desired state with one request, and reports its address. */
export function planChange(
  { reading, kind, desired, state, configuration }: PlanContext,
  current: LoadBalancer,
): LoadBalancerStep {
  if (current.status === "new") return PROVISIONING;
  const targets = chooseTargets(state.targets, kind, current);
  if (targets.length === 0 && state.targets.length > 0)
    return rejectUnreachable(state.targets, kind) ?? NODES_UNKNOWN;
  const name = selectName(reading, current, configuration);
  const target = { ...desired, name: name.name, droplet_ids: targets };
  const differences = listDifferences(current, target);
  const tags = [...new Set([...current.tags, ...listOwnTags(configuration)])];
  const body = buildReplaceBody(current, target, tags);
  // A field that the API accepts but shows differently is not sent again in the same round.
  if (differences.length > 0 && formatCanonicalJson(body) !== state.sent)
    return act("ReplaceLoadBalancer", current.id, body, `differs in ${differences.join(", ")}`);
  const unmarkStep = planUnmark(current);
  if (unmarkStep !== undefined) return unmarkStep;
  if (current.status !== "active")
    return {
      kind: "refused",
      issue: { code: "LoadBalancerFailed", detail: `${current.id} is ${current.status}` },
    };
  const { hostname } = reading.annotations;
  const ingress: Ingress[] =
    hostname === undefined
      ? [current.ip, current.ipv6].filter((ip) => ip !== "").map((ip) => ({ ip }))
      : [{ hostname: hostname.toLowerCase() }];
  const warnings = [
    ...reading.warnings,
    ...listImmutableChanges(reading, current),
    ...name.issues,
    ...reportExcludedNodes(state.targets),
  ];
  return current.ip === "" ? PROVISIONING : { kind: "settled", ingress, warnings };
}

/** Selects the target droplets. An unknown droplet stays if it is a target, and is not added. */
export function chooseTargets(
  targets: readonly TargetDroplet[],
  kind: Kind,
  current: LoadBalancer,
): readonly string[] {
  const currentIds = new Set(current.droplet_ids);
  const keptUnknown = targets.flatMap((target) =>
    target.kind === "unknown" && target.id !== undefined && currentIds.has(target.id) ? [target.id] : [],
  );
  return sortIds([...selectEligible(targets, kind).map(({ id }) => id), ...keptUnknown]);
}

/** A load balancer whose owner is known only by its name keeps that name. */
function selectName(
  { service, annotations }: ServiceReading,
  current: LoadBalancer,
  configuration: LoadBalancerConfiguration,
): { readonly name: string; readonly issues: readonly Issue[] } {
  const defaultName = formatDefaultName(service);
  const name = annotations.name ?? defaultName;
  const hasOtherProof =
    isTagged(current, configuration) ||
    classifyOwnership({ ...current, name: "" }, service, configuration) === "service";
  if (name === defaultName || name === current.name || hasOtherProof) return { name, issues: [] };
  const detail =
    "clusterID is not configured, or the load balancer does not carry its tag: by its name alone it is the Service's";
  const field = formatAnnotationName("name");
  const value = service.metadata.annotations?.[field];
  return { name: current.name, issues: [{ code: "LoadBalancerImmutable", field, value, detail }] };
}

/**
 * Lists requested changes of fields that are fixed at creation. A field that the Service does not set stays.
 */
function listImmutableChanges(
  { service, annotations }: ServiceReading,
  current: LoadBalancer,
): readonly Issue[] {
  const fixedFields = [
    ["type", current.type],
    ["network", current.network],
    ["network-stack", current.network_stack],
    ["ip", current.ip],
    ["subnet-uuid", current.subnet_uuid ?? ""],
  ] as const;
  return fixedFields.flatMap(([suffix, value]) => {
    const requested = annotations[suffix];
    // It has no address before it is active.
    if (requested === undefined || requested === value || (suffix === "ip" && value === "")) return [];
    const field = formatAnnotationName(suffix);
    return [{ code: "LoadBalancerImmutable", field, value: service.metadata.annotations?.[field] }];
  });
}

/** The desired load balancer, existing or not. */
export interface PlanContext {
  readonly reading: ServiceReading;
  readonly kind: Kind;
  readonly desired: DesiredState;
  readonly state: DigitalOceanState;
  readonly configuration: LoadBalancerConfiguration;
}

/** Builds a step with one request. */
export function act(
  action: string,
  target: string,
  body: Body,
  message: string,
): Extract<LoadBalancerStep, { readonly kind: "act" }> {
  return {
    kind: "act",
    because: { code: action, message },
    actions: [{ action, target, parameters: { body } }],
  };
}

/** The tags of all load balancers of the cluster. */
export function listOwnTags({ clusterID }: LoadBalancerConfiguration): readonly string[] {
  return clusterID === undefined ? [] : [formatClusterTag(clusterID)];
}

/** Sorts ids as numbers, independent of their arrival. */
export function sortIds(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)].sort((one, other) => one.length - other.length || (one < other ? -1 : 1));
}

/** It is observed again until it is active. */
const PROVISIONING: LoadBalancerStep = {
  kind: "wait",
  because: { code: "Provisioning", message: "DigitalOcean is making the load balancer" },
  afterSeconds: 15,
};

/** Existing targets stay until the nodes are known. */
export const NODES_UNKNOWN: LoadBalancerStep = {
  kind: "wait",
  because: { code: "TargetsUnknown", message: "the droplets of all nodes are unknown" },
  afterSeconds: 30,
};

/** A new node causes its own event. */
export const NO_NODES: LoadBalancerStep = {
  kind: "wait",
  because: { code: "NoTargets", message: "there is no node that the load balancer could send to" },
  afterSeconds: 300,
};
