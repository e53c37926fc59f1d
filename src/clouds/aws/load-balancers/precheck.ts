import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { checkClassic } from "#clouds/aws/load-balancers/classic/plan.ts";
import {
  getConfiguration,
  getNodePortRange,
  type LoadBalancerConfiguration,
} from "#clouds/aws/load-balancers/configuration.ts";
import { getLoadBalancerKind } from "#clouds/aws/load-balancers/measure.ts";
import { formatLoadBalancerName } from "#clouds/aws/load-balancers/names.ts";
import { readDesiredState } from "#clouds/aws/load-balancers/network/desired-state.ts";
import type { Issue, LoadBalancerQuestion, LoadBalancerStep } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** Checks what is known about a Service without calling AWS; undefined if AWS must be called. */
export function precheck(
  { service, wanted }: LoadBalancerQuestion,
  settings: Settings,
): Extract<LoadBalancerStep, { readonly kind: "refused" | "foreign" }> | undefined {
  const kind = getLoadBalancerKind(service);
  if (kind === "foreign") return { kind: "foreign" };
  if (!wanted) return undefined;
  const issue = checkSpec(service) ?? checkNodePorts(service, getConfiguration(settings));
  if (issue !== undefined) return { kind: "refused", issue };
  if (kind === "classic") {
    const refusal = checkClassic({ service, wanted, nodes: [] }, settings);
    return refusal === undefined ? undefined : { kind: "refused", issue: refusal };
  }
  const read = readDesiredState(service, settings);
  return read.kind === "refused" ? read : undefined;
}

/**
 * Allows only node ports if no tag identifies the cluster's instances: every instance of the VPC may then be
 * a target. An API server under a tenant's control could name any other port.
 */
function checkNodePorts({ spec }: Service, configuration: LoadBalancerConfiguration): Issue | undefined {
  if (configuration.clusterTag !== undefined) return undefined;
  const [first, last] = getNodePortRange(configuration);
  const nodePorts = [
    ...(spec.ports ?? []).map(({ nodePort }, index) => ({
      field: `spec.ports[${index}].nodePort`,
      nodePort,
    })),
    { field: "spec.healthCheckNodePort", nodePort: spec.healthCheckNodePort },
  ];
  const outOfRange = nodePorts.find(({ nodePort }) => nodePort && (nodePort < first || nodePort > last));
  if (outOfRange === undefined) return undefined;
  return {
    code: "InvalidField",
    field: outOfRange.field,
    value: String(outOfRange.nodePort),
    allowed: `${first} to ${last}, which the operator has configured as the cluster's node ports`,
    detail: "without cloud.clusterTag, load balancers send only to ports of cloud.serviceNodePortRange",
  };
}

/** Rejects what neither type supports. */
function checkSpec({ metadata, spec }: Service): Issue | undefined {
  if (spec.sessionAffinity !== undefined && spec.sessionAffinity !== "" && spec.sessionAffinity !== "None")
    return {
      code: "SessionAffinity",
      field: "spec.sessionAffinity",
      value: spec.sessionAffinity,
      allowed: "None",
    };
  if (spec.loadBalancerIP)
    return {
      code: "LoadBalancerIP",
      field: "spec.loadBalancerIP",
      value: spec.loadBalancerIP,
      allowed: `an empty field; a network load balancer has the annotation ${formatAnnotationName("eip-allocations")}`,
    };
  if (formatLoadBalancerName(metadata.uid) === undefined)
    return {
      code: "InvalidField",
      field: "metadata.uid",
      value: metadata.uid,
      allowed: "letters, digits and dashes",
    };
  return undefined;
}
