import { refusalOfClassic } from "#clouds/aws/load-balancers/classic/plan.ts";
import {
  configurationOf,
  type LoadBalancerConfiguration,
  nodePortRangeIn,
} from "#clouds/aws/load-balancers/configuration.ts";
import { kindOf } from "#clouds/aws/load-balancers/kind.ts";
import { loadBalancerNameOf } from "#clouds/aws/load-balancers/load-balancer-name.ts";
import { readNetwork } from "#clouds/aws/load-balancers/network/wanted.ts";
import type { LoadBalancerQuestion, LoadBalancerStep, Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** What can be said of a Service before AWS is asked; undefined where it has to be. */
export function beforeAsking(
  { service, wanted }: LoadBalancerQuestion,
  settings: Settings,
): Extract<LoadBalancerStep, { readonly kind: "refused" | "elsewhere" }> | undefined {
  const kind = kindOf(service);
  if (kind === "elsewhere") return { kind: "elsewhere" };
  if (!wanted) return undefined;
  const problem = faultOfSpec(service) ?? faultOfNodePorts(service, configurationOf(settings));
  if (problem !== undefined) return { kind: "refused", problem };
  if (kind === "classic") {
    const refusal = refusalOfClassic({ service, wanted, nodes: [] }, settings);
    return refusal === undefined ? undefined : { kind: "refused", problem: refusal };
  }
  const read = readNetwork(service, settings);
  return read.kind === "refused" ? read : undefined;
}

/**
 * Without a tag that tells the cluster's instances every one of the VPC may be a target, so that load balancers send to node ports alone:
 * an API server that answers as its tenant likes could name the port of anything else.
 */
function faultOfNodePorts({ spec }: Service, configuration: LoadBalancerConfiguration): Problem | undefined {
  if (configuration.clusterTag !== undefined) return undefined;
  const [first, last] = nodePortRangeIn(configuration);
  const named = [
    ...(spec.ports ?? []).map(({ nodePort }, index) => ({
      field: `spec.ports[${index}].nodePort`,
      nodePort,
    })),
    { field: "spec.healthCheckNodePort", nodePort: spec.healthCheckNodePort },
  ];
  const bad = named.find(({ nodePort }) => nodePort && (nodePort < first || nodePort > last));
  if (bad === undefined) return undefined;
  return {
    code: "InvalidField",
    field: bad.field,
    value: String(bad.nodePort),
    allowed: `${first} to ${last}, which the operator has configured as the cluster's node ports`,
    detail: "without cloud.clusterTag load balancers send to the ports of cloud.serviceNodePortRange alone",
  };
}

/** What neither kind does. */
function faultOfSpec({ metadata, spec }: Service): Problem | undefined {
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
      allowed: "nothing",
    };
  if (loadBalancerNameOf(metadata.uid) === undefined)
    return {
      code: "InvalidField",
      field: "metadata.uid",
      value: metadata.uid,
      allowed: "letters, digits and dashes",
    };
  return undefined;
}
