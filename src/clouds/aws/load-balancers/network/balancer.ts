import type { SubnetMapping } from "@aws-sdk/client-elastic-load-balancing-v2";
import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { NetworkContext, PlanPart } from "#clouds/aws/load-balancers/network/context.ts";
import type { Placement } from "#clouds/aws/load-balancers/network/subnets.ts";
import type { NetworkLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { buildServiceTags, toTagList } from "#clouds/aws/load-balancers/tags.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";

/** The planned changes of a load balancer itself. */
export interface BalancerChange extends PlanPart {
  /** The change disables IPv6 while listeners have IPv6 targets: it follows the changes of listeners. */
  readonly isAfterListeners: boolean;
}

type PlacedPlacement = Extract<Placement, { readonly kind: "placed" }>;

/** Returns the action that creates the load balancer itself. */
export function planBalancerCreation(
  { mappings, families }: PlacedPlacement,
  groupIds: readonly string[],
  { name, owner, desired }: NetworkContext,
): LoadBalancerAction {
  const isPrefixed = families.loadBalancer === "dualstack" && hasUdp({ desired });
  return buildAction("elbv2:CreateLoadBalancer", name, {
    Name: name,
    Type: "network",
    Scheme: desired.internal ? "internal" : "internet-facing",
    IpAddressType: families.loadBalancer,
    SubnetMappings: mappings.map((mapping) => (isPrefixed ? { ...mapping, ...PREFIX } : { ...mapping })),
    ...(isPrefixed ? { EnablePrefixForIpv6SourceNat: "on" as const } : {}),
    ...(groupIds.length === 0 ? {} : { SecurityGroups: [...groupIds] }),
    Tags: toTagList(buildServiceTags(owner)),
  });
}

/**
 * Plans possible changes of an existing load balancer: adds zones, and enables or disables IPv6.
 * Differences that AWS cannot change, or only with an interruption, stay and are reported.
 */
export function planBalancerChange(
  { loadBalancer, listeners }: NetworkLoadBalancerState,
  placement: PlacedPlacement,
  { name, desired, state }: NetworkContext,
): BalancerChange {
  const warnings: Issue[] = [];
  if (loadBalancer.Scheme !== undefined && (loadBalancer.Scheme === "internal") !== desired.internal)
    warnings.push({
      code: "InvalidAnnotation",
      field: formatAnnotationName("internal"),
      value: String(desired.internal),
      allowed: `the scheme of the existing load balancer, which is ${loadBalancer.Scheme}`,
    });
  const zones = loadBalancer.AvailabilityZones ?? [];
  const currentSubnetIds = new Set(zones.map(({ SubnetId }) => SubnetId));
  const currentZones = new Set(zones.map(({ ZoneName }) => ZoneName));
  const added = placement.subnets.flatMap(({ subnet }, index) =>
    currentSubnetIds.has(subnet.SubnetId) || currentZones.has(subnet.AvailabilityZone) ? [] : [index],
  );
  const chosen = new Set(placement.subnets.map(({ subnet }) => subnet.SubnetId));
  const isKept = zones.every(({ SubnetId }) => chosen.has(SubnetId));
  const isComplete = placement.subnets.every(
    ({ subnet }, index) => currentSubnetIds.has(subnet.SubnetId) || added.includes(index),
  );
  if (desired.annotations.subnets !== undefined && !(isKept && isComplete))
    warnings.push({
      code: "SubnetsChanged",
      field: formatAnnotationName("subnets"),
      value: desired.annotations.subnets,
      allowed: "the subnets that the load balancer is in, and one in each further zone",
      detail: `it is in ${[...currentSubnetIds].join(", ")}`,
    });
  warnings.push(...checkAddresses(loadBalancer, placement, { desired }));

  const { loadBalancer: IpAddressType } = placement.families;
  const isDual = IpAddressType === "dualstack";
  const hasPrefix = loadBalancer.EnablePrefixForIpv6SourceNat === "on";
  // A UDP listener needs the prefix until it is deleted.
  const needsPrefix = hasUdp({ desired }) || listeners.some(({ listener }) => isUdp(listener.Protocol));
  const isPrefixMissing = isDual && needsPrefix && !hasPrefix;
  const isOtherType = (loadBalancer.IpAddressType ?? "ipv4") !== IpAddressType;
  const isNarrowed = isOtherType && !isDual;
  const isSurplus = isNarrowed && hasPrefix;
  const ipv6TargetGroups = new Set(
    state.targetGroups.flatMap(({ group }) => (group.IpAddressType === "ipv6" ? group.TargetGroupArn : [])),
  );
  const isAfterListeners =
    isNarrowed &&
    listeners.some(({ listener }) => ipv6TargetGroups.has(listener.DefaultActions?.[0]?.TargetGroupArn));
  const { LoadBalancerArn } = loadBalancer;
  const type = isOtherType ? { IpAddressType } : {};
  if (added.length === 0 && !isPrefixMissing && !isSurplus) {
    const actions = isOtherType
      ? [buildAction("elbv2:SetIpAddressType", name, { LoadBalancerArn, IpAddressType })]
      : [];
    return { actions, isAfterListeners, warnings };
  }
  const isPrefixed = isDual && (needsPrefix || hasPrefix);
  const mappings = [
    ...zones.map(buildSubnetMapping),
    ...added.flatMap((index) => placement.mappings[index] ?? []),
  ].map((mapping) => (isPrefixed ? { ...mapping, ...PREFIX } : { ...mapping }));
  const request = {
    LoadBalancerArn,
    SubnetMappings: mappings,
    ...type,
    ...(isPrefixed ? { EnablePrefixForIpv6SourceNat: "on" as const } : {}),
    ...(isSurplus ? { EnablePrefixForIpv6SourceNat: "off" as const } : {}),
  };
  return { actions: [buildAction("elbv2:SetSubnets", name, request)], isAfterListeners, warnings };
}

/** UDP from IPv6 clients is forwarded from addresses of a prefix, which AWS chooses. */
const PREFIX: SubnetMapping = { SourceNatIpv6Prefix: "auto_assigned" };

function hasUdp({ desired }: Pick<NetworkContext, "desired">): boolean {
  return desired.ports.some(({ protocol }) => isUdp(protocol));
}

function isUdp(protocol: string | undefined): boolean {
  return protocol === "UDP" || protocol === "TCP_UDP";
}

type Zone = NonNullable<NetworkLoadBalancerState["loadBalancer"]["AvailabilityZones"]>[number];

/** Builds the current mapping of a zone, which AWS requires again. */
function buildSubnetMapping({ SubnetId, LoadBalancerAddresses }: Zone): SubnetMapping {
  const { AllocationId, PrivateIPv4Address, IPv6Address } = LoadBalancerAddresses?.[0] ?? {};
  return {
    SubnetId,
    ...(AllocationId === undefined ? {} : { AllocationId }),
    ...(PrivateIPv4Address === undefined ? {} : { PrivateIPv4Address }),
    ...(IPv6Address === undefined ? {} : { IPv6Address }),
  };
}

/**
 * Checks the addresses of existing zones, which cannot be changed. Addresses that AWS does not show are
 * assumed to be right.
 */
function checkAddresses(
  { AvailabilityZones }: NetworkLoadBalancerState["loadBalancer"],
  { mappings }: PlacedPlacement,
  { desired }: Pick<NetworkContext, "desired">,
): readonly Issue[] {
  const isChanged = (key: "AllocationId" | "PrivateIPv4Address") =>
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
    isChanged(key)
      ? {
          code: "InvalidAnnotation",
          field: formatAnnotationName(suffix),
          value: desired.annotations[suffix]?.join(","),
          allowed: "the addresses with which the load balancer was created",
        }
      : [],
  );
}
