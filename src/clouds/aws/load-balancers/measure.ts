import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer, TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { LoadBalancerKind } from "#clouds/aws/load-balancers/annotations/table.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerSize } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** The class with which a Service requests a network load balancer of ours, whatever its annotations say. */
export const NETWORK_CLASS = "serverless-ccm.io/nlb";

/** The annotation with the desired type. */
export const TYPE = formatAnnotationName("type");

/**
 * Returns the type of load balancer that a Service requests; `foreign` belongs to the AWS Load Balancer
 * Controller.
 */
export function getLoadBalancerKind({ metadata, spec }: Service): LoadBalancerKind | "foreign" {
  if (spec.loadBalancerClass !== undefined)
    return spec.loadBalancerClass === NETWORK_CLASS ? "network" : "foreign";
  const type = metadata.annotations?.[TYPE];
  if (type === "external" || type === "nlb-ip") return "foreign";
  // As in the stock controller, any other value means a classic load balancer.
  return type === "nlb" ? "network" : "classic";
}

/** Types of load balancers, as in `Holding.kind`. */
export const NETWORK_KIND = "network load balancer";
export const CLASSIC_KIND = "classic load balancer";

/**
 * Measures how a Service's load balancer counts against quotas. Each listener of a network load balancer has
 * its own target group, which the account's quota counts and every observation holds.
 */
export function measureBalancer(
  service: Service,
  { targetGroups, classic }: AwsLoadBalancerState,
): LoadBalancerSize {
  const isNetwork = getLoadBalancerKind(service) === "network";
  const existingCount = isNetwork ? targetGroups.length : countClassicListeners(classic?.loadBalancer ?? {});
  return {
    kind: isNetwork ? NETWORK_KIND : CLASSIC_KIND,
    missingListeners: Math.max(0, countPorts(service) - existingCount),
  };
}

/** Counts the listeners of a classic load balancer. */
export function countClassicListeners({
  ListenerDescriptions: listeners = [],
}: Pick<LoadBalancerDescription, "ListenerDescriptions">): number {
  return listeners.length;
}

/** Counts the listeners of each network load balancer by ARN: the target groups that it uses. */
export function countNetworkListeners(
  balancers: readonly LoadBalancer[],
  groups: readonly TargetGroup[],
): ReadonlyMap<string, number> {
  const counts = new Map(balancers.map(({ LoadBalancerArn: arn = "" }) => [arn, 0]));
  for (const { LoadBalancerArns: arns = [] } of groups)
    for (const arn of arns) counts.set(arn, (counts.get(arn) ?? 0) + 1);
  return counts;
}

/** Counts a TCP and a UDP port of one number as one listener; ports without a node port are not served. */
function countPorts({ spec }: Service): number {
  const served = (spec.ports ?? []).filter(({ nodePort }) => nodePort !== undefined && nodePort > 0);
  return new Set(served.map(({ port }) => port)).size;
}
