import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import {
  hasLabels,
  readTargetNodeLabels,
  type TargetNodeLabels,
} from "#clouds/aws/load-balancers/annotations/readers.ts";
import type { AwsLoadBalancerState, TargetInstance, VpcState } from "#clouds/aws/load-balancers/state.ts";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import type { Reason } from "#core/reason.ts";
import type { Issue, LoadBalancerQuestion, TargetNode } from "#core/service/model.ts";
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

/** A node that a Service selects, and its instance if AWS shows that as the cluster's. */
interface SelectedNode {
  readonly name: string;
  readonly id: string;
  readonly instance: TargetInstance | undefined;
}

/** Returns the nodes with an instance and with the required labels. */
export function selectNodes(
  nodes: readonly TargetNode[],
  labels: TargetNodeLabels | undefined,
  { instances }: VpcState,
): readonly SelectedNode[] {
  return nodes.flatMap((node) => {
    const id = getTargetInstanceId(node);
    if (id === undefined || !hasLabels(node.labels, labels)) return [];
    return { name: node.name, id, instance: Object.hasOwn(instances, id) ? instances[id] : undefined };
  });
}

/**
 * Returns the registered instances that stay although they cannot be chosen now, because AWS's answer may be
 * incomplete. The instance of a selected node stays if AWS does not show it, or shows no owner of it. If nodes are
 * selected and none of their instances can be chosen, all registered instances stay. An instance that AWS shows
 * as terminated or with another owner never stays.
 */
export function selectKeptTargets(
  registered: Iterable<string>,
  selected: readonly SelectedNode[],
  chosen: readonly string[],
  { excludedInstanceIds = [] }: VpcState,
): readonly string[] {
  const listIds = (isListed: (node: SelectedNode) => boolean): readonly string[] =>
    selected.filter(isListed).map(({ id }) => id);
  const ended = listIds(({ instance }) => instance?.state === "terminated");
  const otherIds = new Set([...chosen, ...excludedInstanceIds, ...ended]);
  const unknownIds = new Set(listIds(({ instance }) => instance === undefined));
  const isLastKept = selected.length > 0 && chosen.length === 0;
  return [...registered].filter((id) => !otherIds.has(id) && (isLastKept || unknownIds.has(id)));
}

/**
 * Refuses to select by label if no node of the event has labels: if they counted as missing, all targets would be
 * removed. In the event, a node without labels looks like one whose labels are unknown.
 */
export function checkNodeLabels(
  nodes: readonly TargetNode[],
  required: TargetNodeLabels | undefined,
): Issue | undefined {
  if (required === undefined || nodes.length === 0 || nodes.some(({ labels }) => labels !== undefined))
    return undefined;
  return {
    code: "NodeLabelsUnknown",
    field: formatAnnotationName("target-node-labels"),
    detail: "the labels of no node are known",
  };
}

const MAX_NAMED = 5;

/** Returns the part of a settled step with the nodes whose instances are awaited; empty without any. */
export function buildTargetWait(nodes: readonly string[]): { readonly awaits?: Reason } {
  if (nodes.length === 0) return {};
  const named = nodes.toSorted().slice(0, MAX_NAMED).join(", ");
  const message = `${nodes.length} nodes are awaited: AWS shows no running instance with the cluster's tag: ${named}`;
  return { awaits: { code: "TargetsAwaited", message } };
}
