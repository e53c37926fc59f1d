import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { hasLabels, targetNodeLabels } from "#clouds/aws/load-balancers/annotations/target-node-labels.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import type { Because } from "#core/decision.ts";
import type { LoadBalancerQuestion, TargetNode } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** The instance that a node is, which is what load balancers send to; none for Fargate, whose nodes are no instances. */
export function targetOf({ providerID }: TargetNode): string | undefined {
  if (providerID === undefined) return undefined;
  const parsed = parseProviderID(providerID);
  return parsed.kind === "instance" ? parsed.id : undefined;
}

/** The same for a Service that may choose nodes by label; what its annotation says wrongly is told elsewhere. */
export function targetOfService(node: TargetNode, { metadata }: Service): string | undefined {
  const read = targetNodeLabels(metadata.annotations?.[annotationName("target-node-labels")] ?? "");
  return hasLabels(node.labels, read.ok ? read.value : undefined) ? targetOf(node) : undefined;
}

/** The instances that a Service's load balancers of either kind have for targets and that are none of its nodes. */
export function lostTargets(
  { service, nodes }: LoadBalancerQuestion,
  { targetGroups, classic }: AwsLoadBalancerState,
): readonly string[] {
  const wanted = new Set(nodes.map((node) => targetOfService(node, service)));
  const registered = [
    ...targetGroups.flatMap(({ targets }) => targets.flatMap(({ Id }) => Id ?? [])),
    ...(classic?.loadBalancer.Instances ?? []).flatMap(({ InstanceId }) => InstanceId ?? []),
  ];
  return [...new Set(registered)].filter((id) => !wanted.has(id));
}

const MAX_NAMED = 5;

/** Returns the part of a settled step that says which nodes' instances are waited for; nothing where none is. */
export function awaitTargets(nodes: readonly string[]): { readonly awaits?: Because } {
  if (nodes.length === 0) return {};
  const named = nodes.toSorted().slice(0, MAX_NAMED).join(", ");
  const message = `${nodes.length} nodes are no targets yet: AWS does not show their instances as running and tagged with the cluster's tag: ${named}`;
  return { awaits: { code: "TargetsAwaited", message } };
}
