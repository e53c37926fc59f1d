import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { hasLabels, readTargetNodeLabels } from "#clouds/aws/load-balancers/annotations/readers.ts";
import type { AwsLoadBalancerState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import type { Reason } from "#core/reason.ts";
import type { LoadBalancerQuestion, TargetNode } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Returns the instance of a node, which load balancers target; undefined for Fargate, whose nodes are no
 * instances.
 */
export function getTargetInstanceId({ providerID }: TargetNode): string | undefined {
  if (providerID === undefined) return undefined;
  const parsed = parseProviderID(providerID);
  return parsed.kind === "instance" ? parsed.id : undefined;
}

/**
 * Returns the instance of a node for a Service that may select nodes by label; invalid annotations are
 * reported elsewhere.
 */
export function selectTarget(node: TargetNode, { metadata }: Service): string | undefined {
  const read = readTargetNodeLabels(metadata.annotations?.[formatAnnotationName("target-node-labels")] ?? "");
  return hasLabels(node.labels, read.ok ? read.value : undefined) ? getTargetInstanceId(node) : undefined;
}

/**
 * Lists the instances that are targets of a Service's load balancers, of either type, but belong to no node.
 */
export function listLostTargets(
  { service, nodes }: LoadBalancerQuestion,
  { targetGroups, classic }: AwsLoadBalancerState,
): readonly string[] {
  const desiredIds = new Set(nodes.map((node) => selectTarget(node, service)));
  const registered = [
    ...targetGroups.flatMap(({ targets }) => targets.flatMap(({ Id }) => Id ?? [])),
    ...(classic?.loadBalancer.Instances ?? []).flatMap(({ InstanceId }) => InstanceId ?? []),
  ];
  return [...new Set(registered)].filter((id) => !desiredIds.has(id));
}

/** The instances from which registered ones are selected that stay. */
export interface RegisteredTargets {
  readonly registered: Iterable<string>;
  /** The instances of the nodes that the Service selects. */
  readonly selected: readonly string[];
  /** The instances that can be targets now. */
  readonly chosen: readonly string[];
}

/**
 * Returns the registered instances that stay although they cannot be chosen now, because AWS's answer may be
 * incomplete. The instance of a selected node stays if AWS does not show it, or shows no owner of it. If nodes are
 * selected and none of their instances can be chosen, all registered instances stay. An instance that AWS shows
 * as terminated or with another owner never stays.
 */
export function selectKeptTargets(
  { registered, selected, chosen }: RegisteredTargets,
  { instances, excludedInstanceIds = [] }: VpcState,
): readonly string[] {
  const isUnknown = (id: string): boolean => !Object.hasOwn(instances, id);
  const isExcluded = (id: string): boolean =>
    excludedInstanceIds.includes(id) || (!isUnknown(id) && instances[id]?.state === "terminated");
  const isLastKept = selected.length > 0 && chosen.length === 0;
  const [selectedIds, chosenIds] = [new Set(selected), new Set(chosen)];
  return [...registered].filter(
    (id) => !chosenIds.has(id) && !isExcluded(id) && (isLastKept || (selectedIds.has(id) && isUnknown(id))),
  );
}

const MAX_NAMED = 5;

/** Returns the part of a settled step with the nodes whose instances are awaited; empty without any. */
export function buildTargetWait(nodes: readonly string[]): { readonly awaits?: Reason } {
  if (nodes.length === 0) return {};
  const named = nodes.toSorted().slice(0, MAX_NAMED).join(", ");
  const message = `${nodes.length} nodes are awaited, because AWS does not show their instances as running and tagged with the cluster's tag: ${named}`;
  return { awaits: { code: "TargetsAwaited", message } };
}
