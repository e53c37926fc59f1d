import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { LoadBalancerKind } from "#clouds/aws/load-balancers/annotations/table.ts";
import type { Service } from "#core/service/service.ts";

/** The class with which a Service requests a network load balancer of ours, whatever its annotations say. */
export const NETWORK_CLASS = "serverless-ccm.io/nlb";

/** The annotation with the desired type. */
export const TYPE = formatAnnotationName("type");

/**
 * Returns the type of load balancer that a Service requests; `elsewhere` belongs to the AWS Load Balancer
 * Controller.
 */
export function getLoadBalancerKind({ metadata, spec }: Service): LoadBalancerKind | "elsewhere" {
  if (spec.loadBalancerClass !== undefined)
    return spec.loadBalancerClass === NETWORK_CLASS ? "network" : "elsewhere";
  const type = metadata.annotations?.[TYPE];
  if (type === "external" || type === "nlb-ip") return "elsewhere";
  // As in the stock controller, any other value means a classic load balancer.
  return type === "nlb" ? "network" : "classic";
}
