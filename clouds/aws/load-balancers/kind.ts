import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { LoadBalancerKind } from "#clouds/aws/load-balancers/annotations/table.ts";
import type { Service } from "#core/service/service.ts";

/** The class by which a Service asks for a network load balancer of ours, whatever its annotations say. */
export const NETWORK_CLASS = "serverless-ccm.io/nlb";

/** The annotation that says which kind is wanted. */
export const TYPE = annotationName("type");

/** Which kind of load balancer a Service asks for; `elsewhere` is the AWS Load Balancer Controller's. */
export function kindOf({ metadata, spec }: Service): LoadBalancerKind | "elsewhere" {
  if (spec.loadBalancerClass !== undefined)
    return spec.loadBalancerClass === NETWORK_CLASS ? "network" : "elsewhere";
  const type = metadata.annotations?.[TYPE];
  if (type === "external" || type === "nlb-ip") return "elsewhere";
  // As in the stock controller: whatever else is written there is a classic one.
  return type === "nlb" ? "network" : "classic";
}
