import type { SubnetMapping } from "@aws-sdk/client-elastic-load-balancing-v2";
import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { NetworkContext, Part } from "#clouds/aws/load-balancers/network/context.ts";
import type { Placement } from "#clouds/aws/load-balancers/network/subnets.ts";
import type { NetworkLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { tagList, wantedTags } from "#clouds/aws/load-balancers/tags.ts";
import type { LoadBalancerAction, Problem } from "#core/service/model.ts";

/** What is to be changed of a load balancer itself. */
export interface BalancerChange extends Part {
  /** IPv6 goes off, but only once no listener sends to targets of IPv6 any more. */
  readonly isLast: boolean;
}

type Placed = Extract<Placement, { readonly kind: "placed" }>;

/** Makes the load balancer itself. */
export function createBalancer(
  { mappings, families }: Placed,
  groupIds: readonly string[],
  { name, owner, wanted }: NetworkContext,
): LoadBalancerAction {
  const isPrefixed = families.loadBalancer === "dualstack" && hasUdp({ wanted });
  return awsAction("elbv2:CreateLoadBalancer", name, {
    Name: name,
    Type: "network",
    Scheme: wanted.internal ? "internal" : "internet-facing",
    IpAddressType: families.loadBalancer,
    SubnetMappings: mappings.map((mapping) => (isPrefixed ? { ...mapping, ...PREFIX } : { ...mapping })),
    ...(isPrefixed ? { EnablePrefixForIpv6SourceNat: "on" as const } : {}),
    ...(groupIds.length === 0 ? {} : { SecurityGroups: [...groupIds] }),
    Tags: tagList(wantedTags(owner)),
  });
}

/**
 * Sets right what can be changed of a load balancer that is there: zones are added, and IPv6 goes on and off. What AWS, or nobody
 * without an interruption, can change stays, and is told.
 */
export function changeBalancer(
  { loadBalancer, listeners }: NetworkLoadBalancerState,
  placement: Placed,
  { name, wanted, state }: NetworkContext,
): BalancerChange {
  const warnings: Problem[] = [];
  if (loadBalancer.Scheme !== undefined && (loadBalancer.Scheme === "internal") !== wanted.internal)
    warnings.push({
      code: "InvalidAnnotation",
      field: annotationName("internal"),
      value: String(wanted.internal),
      allowed: `what it was when the load balancer was made, which is ${loadBalancer.Scheme}`,
    });
  const zones = loadBalancer.AvailabilityZones ?? [];
  const there = new Set(zones.map(({ SubnetId }) => SubnetId));
  const zonesThere = new Set(zones.map(({ ZoneName }) => ZoneName));
  const added = placement.subnets.flatMap(({ subnet }, index) =>
    there.has(subnet.SubnetId) || zonesThere.has(subnet.AvailabilityZone) ? [] : [index],
  );
  const chosen = new Set(placement.subnets.map(({ subnet }) => subnet.SubnetId));
  const isKept = zones.every(({ SubnetId }) => chosen.has(SubnetId));
  const isIn = placement.subnets.every(
    ({ subnet }, index) => there.has(subnet.SubnetId) || added.includes(index),
  );
  if (wanted.annotations.subnets !== undefined && !(isKept && isIn))
    warnings.push({
      code: "SubnetsChanged",
      field: annotationName("subnets"),
      value: wanted.annotations.subnets,
      allowed: "the subnets that the load balancer is in, and one in each further zone",
      detail: `it is in ${[...there].join(", ")}`,
    });
  warnings.push(...otherAddresses(loadBalancer, placement, { wanted }));

  const { loadBalancer: IpAddressType } = placement.families;
  const isDual = IpAddressType === "dualstack";
  const isOn = loadBalancer.EnablePrefixForIpv6SourceNat === "on";
  // A listener of UDP that is about to go needs the prefix until it is gone.
  const needsPrefix = hasUdp({ wanted }) || listeners.some(({ listener }) => isUdp(listener.Protocol));
  const isPrefixMissing = isDual && needsPrefix && !isOn;
  const isOtherType = (loadBalancer.IpAddressType ?? "ipv4") !== IpAddressType;
  const isNarrowed = isOtherType && !isDual;
  const isSurplus = isNarrowed && isOn;
  const ofIPv6 = new Set(
    state.targetGroups.flatMap(({ group }) => (group.IpAddressType === "ipv6" ? group.TargetGroupArn : [])),
  );
  const isLast =
    isNarrowed && listeners.some(({ listener }) => ofIPv6.has(listener.DefaultActions?.[0]?.TargetGroupArn));
  const { LoadBalancerArn } = loadBalancer;
  const type = isOtherType ? { IpAddressType } : {};
  if (added.length === 0 && !isPrefixMissing && !isSurplus) {
    const actions = isOtherType
      ? [awsAction("elbv2:SetIpAddressType", name, { LoadBalancerArn, IpAddressType })]
      : [];
    return { actions, isLast, warnings };
  }
  const isPrefixed = isDual && (needsPrefix || isOn);
  const mappings = [
    ...zones.map(mappingOf),
    ...added.flatMap((index) => placement.mappings[index] ?? []),
  ].map((mapping) => (isPrefixed ? { ...mapping, ...PREFIX } : { ...mapping }));
  const request = {
    LoadBalancerArn,
    SubnetMappings: mappings,
    ...type,
    ...(isPrefixed ? { EnablePrefixForIpv6SourceNat: "on" as const } : {}),
    ...(isSurplus ? { EnablePrefixForIpv6SourceNat: "off" as const } : {}),
  };
  return { actions: [awsAction("elbv2:SetSubnets", name, request)], isLast, warnings };
}

/** UDP from IPv6 clients is sent on from addresses of a prefix, which AWS chooses. */
const PREFIX: SubnetMapping = { SourceNatIpv6Prefix: "auto_assigned" };

function hasUdp({ wanted }: Pick<NetworkContext, "wanted">): boolean {
  return wanted.ports.some(({ protocol }) => isUdp(protocol));
}

function isUdp(protocol: string | undefined): boolean {
  return protocol === "UDP" || protocol === "TCP_UDP";
}

type Zone = NonNullable<NetworkLoadBalancerState["loadBalancer"]["AvailabilityZones"]>[number];

/** A zone as it is, which AWS wants to be told again. */
function mappingOf({ SubnetId, LoadBalancerAddresses }: Zone): SubnetMapping {
  const { AllocationId, PrivateIPv4Address, IPv6Address } = LoadBalancerAddresses?.[0] ?? {};
  return {
    SubnetId,
    ...(AllocationId === undefined ? {} : { AllocationId }),
    ...(PrivateIPv4Address === undefined ? {} : { PrivateIPv4Address }),
    ...(IPv6Address === undefined ? {} : { IPv6Address }),
  };
}

/** Addresses of zones that are there cannot be changed; what AWS does not show is taken to be as it is to be. */
function otherAddresses(
  { AvailabilityZones }: NetworkLoadBalancerState["loadBalancer"],
  { mappings }: Placed,
  { wanted }: Pick<NetworkContext, "wanted">,
): readonly Problem[] {
  const isOther = (key: "AllocationId" | "PrivateIPv4Address") =>
    mappings.some((mapping) => {
      const zone = AvailabilityZones?.find(({ SubnetId }) => SubnetId === mapping.SubnetId);
      const addresses = zone?.LoadBalancerAddresses?.map((address) => address[key]).filter(Boolean) ?? [];
      return mapping[key] !== undefined && addresses.length > 0 && !addresses.includes(mapping[key]);
    });
  return (
    [
      ["eip-allocations", "AllocationId"],
      ["private-ipv4-addresses", "PrivateIPv4Address"],
    ] as const
  ).flatMap(([suffix, key]) =>
    isOther(key)
      ? {
          code: "InvalidAnnotation",
          field: annotationName(suffix),
          value: wanted.annotations[suffix]?.join(","),
          allowed: "the addresses that the load balancer was made with",
        }
      : [],
  );
}
