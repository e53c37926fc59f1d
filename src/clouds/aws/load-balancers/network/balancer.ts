import type { SubnetMapping } from "@aws-sdk/client-elastic-load-balancing-v2";
import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { NetworkContext, PlanPart } from "#clouds/aws/load-balancers/network/context.ts";
import type { Placement } from "#clouds/aws/load-balancers/network/subnets.ts";
import type { NetworkLoadBalancerState, SubnetState } from "#clouds/aws/load-balancers/state.ts";
import { buildServiceTags, toTagList } from "#clouds/aws/load-balancers/tags.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";

/** The planned changes of a load balancer itself. */
export interface BalancerChange extends PlanPart {
  /** The change disables IPv6 while listeners have IPv6 targets: it follows the changes of listeners. */
  readonly isAfterListeners: boolean;
}

type LoadBalancer = NetworkLoadBalancerState["loadBalancer"];
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
  balancer: NetworkLoadBalancerState,
  placement: PlacedPlacement,
  context: NetworkContext,
): BalancerChange {
  const { loadBalancer, listeners } = balancer;
  const { name, desired } = context;
  const zones = loadBalancer.AvailabilityZones ?? [];
  const added = findAddedSubnets(zones, placement);
  const warnings = [
    ...checkScheme(loadBalancer, context),
    ...checkSubnets(zones, placement, added, context),
    ...checkAddresses(zones, placement, context),
  ];
  const { LoadBalancerArn } = loadBalancer;
  const { loadBalancer: IpAddressType } = placement.families;
  const isDual = IpAddressType === "dualstack";
  const isOtherType = (loadBalancer.IpAddressType ?? "ipv4") !== IpAddressType;
  const isNarrowed = isOtherType && !isDual;
  const isAfterListeners = isNarrowed && hasIpv6Targets(balancer, context);
  const hasPrefix = loadBalancer.EnablePrefixForIpv6SourceNat === "on";
  // A UDP listener needs the prefix until it is deleted.
  const needsPrefix = hasUdp({ desired }) || listeners.some(({ listener }) => isUdp(listener.Protocol));
  const isPrefixed = isDual && (needsPrefix || hasPrefix);
  const isSurplus = isNarrowed && hasPrefix;
  if (added.length === 0 && (hasPrefix || !isPrefixed) && !isSurplus) {
    const actions = isOtherType
      ? [buildAction("elbv2:SetIpAddressType", name, { LoadBalancerArn, IpAddressType })]
      : [];
    return { actions, isAfterListeners, warnings };
  }
  const mappings = [
    ...zones.map(buildSubnetMapping),
    ...added.flatMap((each) => placement.mappings[placement.subnets.indexOf(each)] ?? []),
  ];
  const request = {
    LoadBalancerArn,
    SubnetMappings: mappings.map((mapping) => (isPrefixed ? { ...mapping, ...PREFIX } : { ...mapping })),
    ...(isOtherType ? { IpAddressType } : {}),
    ...(isPrefixed || isSurplus
      ? { EnablePrefixForIpv6SourceNat: isPrefixed ? ("on" as const) : ("off" as const) }
      : {}),
  };
  return { actions: [buildAction("elbv2:SetSubnets", name, request)], isAfterListeners, warnings };
}

/** Finds the placement's subnets in zones that the load balancer does not have yet. */
export function findAddedSubnets(
  zones: readonly Zone[],
  { subnets }: PlacedPlacement,
): readonly SubnetState[] {
  return subnets.filter(
    ({ subnet }) =>
      !zones.some((zone) => zone.SubnetId === subnet.SubnetId || zone.ZoneName === subnet.AvailabilityZone),
  );
}

function hasIpv6Targets({ listeners }: NetworkLoadBalancerState, { state }: NetworkContext): boolean {
  const ipv6TargetGroups = new Set(
    state.targetGroups.flatMap(({ group }) => (group.IpAddressType === "ipv6" ? group.TargetGroupArn : [])),
  );
  return listeners.some(({ listener }) => ipv6TargetGroups.has(listener.DefaultActions?.[0]?.TargetGroupArn));
}

/** UDP from IPv6 clients is forwarded from addresses of a prefix, which AWS chooses. */
const PREFIX: SubnetMapping = { SourceNatIpv6Prefix: "auto_assigned" };

function hasUdp({ desired }: Pick<NetworkContext, "desired">): boolean {
  return desired.ports.some(({ protocol }) => isUdp(protocol));
}

function isUdp(protocol: string | undefined): boolean {
  return protocol === "UDP" || protocol === "TCP_UDP";
}

type Zone = NonNullable<LoadBalancer["AvailabilityZones"]>[number];

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

/** Checks the scheme, which cannot be changed. */
function checkScheme({ Scheme }: LoadBalancer, { desired }: NetworkContext): readonly Issue[] {
  if (Scheme === undefined || (Scheme === "internal") === desired.internal) return [];
  return [
    {
      code: "InvalidAnnotation",
      field: formatAnnotationName("internal"),
      value: String(desired.internal),
      allowed: `the scheme of the existing load balancer, which is ${Scheme}`,
    },
  ];
}

/** Checks the named subnets: the load balancer stays in its subnets, and can have one in each further zone. */
function checkSubnets(
  zones: readonly Zone[],
  { subnets }: PlacedPlacement,
  added: readonly SubnetState[],
  { desired }: NetworkContext,
): readonly Issue[] {
  const currentIds = new Set(zones.map(({ SubnetId }) => SubnetId));
  const chosenIds = new Set(subnets.map(({ subnet }) => subnet.SubnetId));
  const isKept = [...currentIds].every((id) => chosenIds.has(id));
  const isComplete = subnets.every((each) => currentIds.has(each.subnet.SubnetId) || added.includes(each));
  if (desired.annotations.subnets === undefined || (isKept && isComplete)) return [];
  return [
    {
      code: "SubnetsChanged",
      field: formatAnnotationName("subnets"),
      value: desired.annotations.subnets,
      allowed: "the subnets that the load balancer is in, and one in each further zone",
      detail: `it is in ${[...currentIds].join(", ")}`,
    },
  ];
}

/**
 * Checks the addresses of existing zones, which cannot be changed. Addresses that AWS does not show are
 * assumed to be right.
 */
function checkAddresses(
  zones: readonly Zone[],
  { mappings }: PlacedPlacement,
  { desired }: Pick<NetworkContext, "desired">,
): readonly Issue[] {
  const isChanged = (key: "AllocationId" | "PrivateIPv4Address") =>
    mappings.some((mapping) => {
      const zone = zones.find(({ SubnetId }) => SubnetId === mapping.SubnetId);
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
