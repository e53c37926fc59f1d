import { findAnnotation } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { LoadBalancerConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import type { DesiredState } from "#clouds/oci/load-balancers/desired-state/desired-state.ts";
import type { OciState } from "#clouds/oci/load-balancers/state.ts";
import { CLUSTER_TAG, isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Owner and configuration for the check of named resources: a Service may name a configured subnet, or a
 * resource with the cluster's tag.
 */
export interface LoadBalancerContext {
  readonly service: Service;
  readonly configuration: LoadBalancerConfiguration;
  readonly cluster: string;
}

/** Returns why network security groups in annotations may not be used. */
export function checkNamedGroups(
  desired: DesiredState,
  { named }: OciState,
  context: LoadBalancerContext,
): Issue | undefined {
  const { kind, annotationSettings, mode } = desired;
  const isUsable = (id: string): boolean => {
    const group = named[id]?.group;
    return (
      group !== undefined &&
      group.vcnId === (context.configuration.vcn ?? group.vcnId) &&
      group.lifecycleState === "AVAILABLE" &&
      isOfCluster(group.freeformTags ?? undefined, context.cluster)
    );
  };
  for (const setting of ["securityGroups", "backendSecurityGroups"] as const) {
    if (setting === "backendSecurityGroups" && mode !== "NSG") continue;
    const bad = annotationSettings[setting]?.find((id) => !isUsable(id));
    if (bad === undefined) continue;
    const field = findAnnotation(kind, setting);
    return {
      code: "SecurityGroupNotAllowed",
      field,
      value: getAnnotation(field, context),
      detail: formatForeign(bad, context),
    };
  }
  return undefined;
}

/**
 * Chooses the subnets of a new load balancer, or returns why it has no valid one. Only a public one whose subnets
 * have one availability domain each gets two.
 */
export function chooseSubnets(
  desired: DesiredState,
  { subnets }: OciState,
  context: LoadBalancerContext,
):
  | { readonly kind: "chosen"; readonly subnets: readonly string[] }
  | { readonly kind: "refused"; readonly issue: Issue } {
  const { subnet1, subnet2 } = context.configuration.loadBalancer ?? {};
  for (const [index, id] of desired.subnets.entries()) {
    const subnet = subnets[id];
    const isConfigured = id === subnet1 || id === subnet2;
    const isOurs = isConfigured || isOfCluster(subnet?.freeformTags ?? undefined, context.cluster);
    if (subnet != null && subnet.vcnId === (context.configuration.vcn ?? subnet.vcnId) && isOurs) continue;
    const field = findAnnotation(desired.kind, index === 0 || desired.kind === "nlb" ? "subnet1" : "subnet2");
    const issue = {
      code: "SubnetNotFound",
      field,
      value: getAnnotation(field, context),
      detail: formatForeign(id, context),
    };
    return { kind: "refused", issue };
  }
  const [first = ""] = desired.subnets;
  const isOne = desired.kind === "nlb" || desired.isPrivate || !subnets[first]?.availabilityDomain;
  return { kind: "chosen", subnets: isOne ? [first] : desired.subnets };
}

/** Returns the reserved address in `spec.loadBalancerIP` if it may be used. */
export function chooseAddress(
  { publicIp }: OciState,
  { service: { spec }, cluster }: LoadBalancerContext,
):
  | { readonly kind: "chosen"; readonly id: string | undefined }
  | { readonly kind: "refused"; readonly issue: Issue } {
  const value = spec.loadBalancerIP;
  if (!value) return { kind: "chosen", id: undefined };
  const isFree = publicIp?.lifetime === "RESERVED" && publicIp.lifecycleState === "AVAILABLE";
  if (isFree && isOfCluster(publicIp.freeformTags ?? undefined, cluster))
    return { kind: "chosen", id: publicIp.id };
  const detail = `no reserved public IP ${value} that is free and has the free-form tag ${CLUSTER_TAG}=${cluster}`;
  return {
    kind: "refused",
    issue: { code: "ReservedIPNotUsable", field: "spec.loadBalancerIP", value, detail },
  };
}

function getAnnotation(field: string, { service: { metadata } }: LoadBalancerContext): string | undefined {
  return metadata.annotations?.[field];
}

function formatForeign(id: string, { configuration, cluster }: LoadBalancerContext): string {
  return `${id} does not exist, is not in the VCN ${configuration.vcn ?? "of the cluster"}, or lacks the free-form tag ${CLUSTER_TAG}=${cluster}`;
}
