import { annotationOf } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { LoadBalancerConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import type { OciState } from "#clouds/oci/load-balancers/state.ts";
import { CLUSTER_TAG, isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import type { Wanted } from "#clouds/oci/load-balancers/wanted/wanted.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** What a Service may name is the cluster's: a subnet that is configured, or what carries the cluster's tag. */
export interface Whose {
  readonly service: Service;
  readonly configuration: LoadBalancerConfiguration;
  readonly cluster: string;
}

/** Why network security groups that annotations name may not be used. */
export function faultOfGroups(wanted: Wanted, { named }: OciState, whose: Whose): Problem | undefined {
  const { kind, said, mode } = wanted;
  const isUsable = (id: string): boolean => {
    const group = named[id]?.group;
    return (
      group !== undefined &&
      group.vcnId === (whose.configuration.vcn ?? group.vcnId) &&
      group.lifecycleState === "AVAILABLE" &&
      isOfCluster(group.freeformTags ?? undefined, whose.cluster)
    );
  };
  for (const saying of ["securityGroups", "backendSecurityGroups"] as const) {
    if (saying === "backendSecurityGroups" && mode !== "NSG") continue;
    const bad = said[saying]?.find((id) => !isUsable(id));
    if (bad === undefined) continue;
    const field = annotationOf(kind, saying);
    return {
      code: "SecurityGroupNotAllowed",
      field,
      value: written(field, whose),
      detail: notOurs(bad, whose),
    };
  }
  return undefined;
}

/** The subnets of a load balancer that is to be made, or why there are none: two only of a public one where they are of one domain each. */
export function chooseSubnets(
  wanted: Wanted,
  { subnets }: OciState,
  whose: Whose,
):
  | { readonly kind: "chosen"; readonly subnets: readonly string[] }
  | { readonly kind: "refused"; readonly problem: Problem } {
  const { subnet1, subnet2 } = whose.configuration.loadBalancer ?? {};
  for (const [index, id] of wanted.subnets.entries()) {
    const subnet = subnets[id];
    const isConfigured = id === subnet1 || id === subnet2;
    const isOurs = isConfigured || isOfCluster(subnet?.freeformTags ?? undefined, whose.cluster);
    if (subnet != null && subnet.vcnId === (whose.configuration.vcn ?? subnet.vcnId) && isOurs) continue;
    const field = annotationOf(wanted.kind, index === 0 || wanted.kind === "nlb" ? "subnet1" : "subnet2");
    const problem = {
      code: "SubnetNotFound",
      field,
      value: written(field, whose),
      detail: notOurs(id, whose),
    };
    return { kind: "refused", problem };
  }
  const [first = ""] = wanted.subnets;
  const isOne = wanted.kind === "nlb" || wanted.isPrivate || !subnets[first]?.availabilityDomain;
  return { kind: "chosen", subnets: isOne ? [first] : wanted.subnets };
}

/** The reserved address of `spec.loadBalancerIP`, if it is one that may be used. */
export function chooseAddress(
  { publicIp }: OciState,
  { service: { spec }, cluster }: Whose,
):
  | { readonly kind: "chosen"; readonly id: string | undefined }
  | { readonly kind: "refused"; readonly problem: Problem } {
  const value = spec.loadBalancerIP;
  if (!value) return { kind: "chosen", id: undefined };
  const isFree = publicIp?.lifetime === "RESERVED" && publicIp.lifecycleState === "AVAILABLE";
  if (isFree && isOfCluster(publicIp.freeformTags ?? undefined, cluster))
    return { kind: "chosen", id: publicIp.id };
  const detail = `no reserved public IP ${value} that is free and has the free-form tag ${CLUSTER_TAG}=${cluster}`;
  return {
    kind: "refused",
    problem: { code: "ReservedIPNotUsable", field: "spec.loadBalancerIP", value, detail },
  };
}

function written(field: string, { service: { metadata } }: Whose): string | undefined {
  return metadata.annotations?.[field];
}

function notOurs(id: string, { configuration, cluster }: Whose): string {
  return `${id} is not there, not in the VCN ${configuration.vcn ?? "of the cluster"}, or has not the free-form tag ${CLUSTER_TAG}=${cluster}`;
}
