import type { SubnetMapping } from "@aws-sdk/client-elastic-load-balancing-v2";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { getAllowedResources } from "#clouds/aws/load-balancers/configuration.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { hasFrontendGroups } from "#clouds/aws/load-balancers/network/groups.ts";
import { type Families, IPV4 } from "#clouds/aws/load-balancers/network/ports.ts";
import { describeNotAllowed, isAllowed } from "#clouds/aws/load-balancers/ownership.ts";
import type { SubnetState } from "#clouds/aws/load-balancers/state.ts";
import type { SubnetChoice } from "#clouds/aws/load-balancers/types.ts";
import { chooseSubnets } from "#clouds/aws/load-balancers/vpc/choose-subnets.ts";
import { parseIp } from "#core/ip.ts";
import type { Issue } from "#core/service/model.ts";

/** The placement of a load balancer: for each zone a subnet and, if an annotation names one, a fixed address. */
export type Placement =
  | {
      readonly kind: "placed";
      readonly subnets: readonly SubnetState[];
      readonly mappings: readonly SubnetMapping[];
      readonly families: Families;
      readonly warnings: readonly Issue[];
    }
  | { readonly kind: "refused"; readonly issue: Issue };

/**
 * Chooses the subnets and addresses of a load balancer. If a Service only prefers dual stack, IPv4 alone is the
 * fallback.
 */
export function placeBalancer(context: NetworkContext, isInternal: boolean): Placement {
  const { desired, owner, state, configuration } = context;
  const { annotations, families } = desired;
  const choose = (dualStack: boolean) =>
    chooseSubnets(
      {
        named: annotations.subnets,
        internal: isInternal,
        clusterTag: owner.clusterTag,
        dualStack,
        fallbackId: configuration.subnetID,
        allow: getAllowedResources(configuration),
        isVpcConfigured: configuration.vpc !== undefined,
        attachedIds:
          state.network?.loadBalancer.AvailabilityZones?.flatMap(({ SubnetId }) => SubnetId ?? []) ?? [],
      },
      state.vpc,
    );
  const isDualStack = families.loadBalancer === "dualstack";
  const choice = checkChoice(choose(isDualStack));
  if (choice.kind === "ready") return buildPlacement(choice.value, families, context);
  if (!isDualStack || families.isRequired) return choice;
  const ipv4Choice = choose(false);
  return ipv4Choice.kind === "ready"
    ? buildPlacement(ipv4Choice.value, IPV4, context, [choice.issue])
    : choice;

  function checkChoice(unchecked: SubnetChoice): SubnetChoice {
    const issue = unchecked.kind === "ready" ? checkSourceRanges(context) : undefined;
    return issue === undefined ? unchecked : { kind: "refused", issue };
  }
}

/**
 * Checks source ranges. Traffic of the one family reaches targets of the other from the load balancer's addresses,
 * which health checks need open. So rules on nodes cannot restrict these clients; security groups of the load
 * balancer can.
 */
function checkSourceRanges(context: NetworkContext): Issue | undefined {
  const { families, sourceRanges } = context.desired;
  const allTranslatedClients = families.targets === "ipv4" ? "::/0" : "0.0.0.0/0";
  const isOpen = sourceRanges === undefined || sourceRanges.includes(allTranslatedClients);
  if (families.loadBalancer !== "dualstack" || isOpen || hasFrontendGroups(context)) return undefined;
  return {
    code: "IPFamilies",
    field: "spec.ipFamilies",
    value: "IPv6",
    allowed:
      "IPv4 alone where source ranges are limited, unless the operator has set nlbSecurityGroupMode: Managed",
  };
}

function buildPlacement(
  subnets: readonly SubnetState[],
  families: Families,
  context: NetworkContext,
  warnings: readonly Issue[] = [],
): Placement {
  const { desired } = context;
  const eips = desired.annotations["eip-allocations"];
  const addresses = desired.annotations["private-ipv4-addresses"];
  const countIssue =
    checkCount("eip-allocations", "ElasticIPsOfOtherCount", eips) ??
    checkCount("private-ipv4-addresses", "AddressCountMismatch", addresses);
  const issue = countIssue ?? checkElasticIps(context);
  if (issue !== undefined) return { kind: "refused", issue };
  const mappings: SubnetMapping[] = [];
  for (const [index, { subnet }] of subnets.entries()) {
    const address = addresses?.find((each) => isInNetwork(each, subnet.CidrBlock ?? ""));
    if (addresses !== undefined && address === undefined)
      return { kind: "refused", issue: buildNotInSubnetIssue(subnet) };
    mappings.push({
      SubnetId: subnet.SubnetId,
      ...(eips === undefined ? {} : { AllocationId: eips[index] }),
      ...(address === undefined ? {} : { PrivateIPv4Address: address }),
    });
  }
  return { kind: "placed", subnets, mappings, families, warnings };

  function checkCount(
    suffix: "eip-allocations" | "private-ipv4-addresses",
    code: "ElasticIPsOfOtherCount" | "AddressCountMismatch",
    list: readonly string[] | undefined,
  ): Issue | undefined {
    if (list === undefined || list.length === subnets.length) return undefined;
    return {
      code,
      field: formatAnnotationName(suffix),
      value: list.join(","),
      allowed: `${subnets.length} addresses, one for each subnet`,
    };
  }

  function buildNotInSubnetIssue({ SubnetId: id }: SubnetState["subnet"]): Issue {
    return {
      code: "InvalidAnnotation",
      field: formatAnnotationName("private-ipv4-addresses"),
      value: addresses?.join(","),
      allowed: "one address of each subnet's network",
      detail: `no address is in subnet ${id}`,
    };
  }
}

/** Returns whether an address is in a CIDR network of the same family; false if either is invalid. */
function isInNetwork(address: string, network: string): boolean {
  const [start = "", prefixLength = ""] = network.split("/");
  const [ip, base] = [parseIp(address), parseIp(start)];
  if (ip === undefined || base === undefined || ip.family !== base.family || !/^\d+$/.test(prefixLength))
    return false;
  const hostBits = (ip.family === 4 ? 32 : 128) - Number(prefixLength);
  if (hostBits < 0) return false;
  return ip.value >> BigInt(hostBits) === base.value >> BigInt(hostBits);
}

/**
 * Returns why the Elastic IP addresses of the annotation cannot be used: an address is missing, is in use, or is
 * neither tagged as the cluster's nor allowed. Addresses that the load balancer already has are not checked. For an
 * existing load balancer only the tag and the allow-list are, because it keeps the addresses of its zones.
 */
function checkElasticIps({ desired, owner, state, configuration }: NetworkContext): Issue | undefined {
  const ids = desired.annotations["eip-allocations"] ?? [];
  const { network, addresses = {} } = state;
  const attachedIds = new Set(
    network?.loadBalancer.AvailabilityZones?.flatMap(({ LoadBalancerAddresses: each = [] }) =>
      each.map(({ AllocationId }) => AllocationId),
    ),
  );
  const identity = { clusterTag: owner.clusterTag, allow: getAllowedResources(configuration) };
  const faults = ids.flatMap((id) => {
    if (attachedIds.has(id)) return [];
    const address = Object.hasOwn(addresses, id) ? addresses[id] : undefined;
    const isUsable = isAllowed("elasticIPs", { id, tags: address?.tags }, identity);
    if (isUsable && network !== undefined) return [];
    // A missing address has no tags, so this comes before the reason that names the tag.
    if (address === undefined) return [`${id} is not in this region and account`];
    if (!isUsable) return [`${id} is ${describeNotAllowed(owner.clusterTag, "elasticIPs")}`];
    return address.isInUse ? [`${id} is in use`] : [];
  });
  if (faults.length === 0) return undefined;
  return {
    code: "ElasticIPsNotUsable",
    field: formatAnnotationName("eip-allocations"),
    value: ids.join(","),
    detail: faults.join("; "),
  };
}
