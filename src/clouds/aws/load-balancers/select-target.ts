import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { hasLabels, readTargetNodeLabels } from "#clouds/aws/load-balancers/annotations/readers.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
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

const MAX_NAMED = 5;

/** Returns the part of a settled step with the nodes whose instances are awaited; empty without any. */
export function buildTargetWait(nodes: readonly string[]): { readonly awaits?: Reason } {
  if (nodes.length === 0) return {};
  const named = nodes.toSorted().slice(0, MAX_NAMED).join(", ");
  const message = `${nodes.length} nodes are no targets yet: AWS does not show their instances as running and tagged with the cluster's tag: ${named}`;
  return { awaits: { code: "TargetsAwaited", message } };
}
