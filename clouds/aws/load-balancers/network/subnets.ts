import type { SubnetMapping } from "@aws-sdk/client-elastic-load-balancing-v2";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { allowedOf } from "#clouds/aws/load-balancers/configuration.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { faultOfAddresses } from "#clouds/aws/load-balancers/network/elastic-ips.ts";
import { type Families, IPV4 } from "#clouds/aws/load-balancers/network/families.ts";
import { hasFrontGroups } from "#clouds/aws/load-balancers/network/groups.ts";
import { isInNetwork } from "#clouds/aws/load-balancers/network/is-in-network.ts";
import type { SubnetState } from "#clouds/aws/load-balancers/state.ts";
import { chooseSubnets } from "#clouds/aws/load-balancers/vpc/choose-subnets.ts";
import type { Problem } from "#core/service/model.ts";

/** Where a load balancer is to be: one subnet in each zone, with an address where annotations name some. */
export type Placement =
  | {
      readonly kind: "placed";
      readonly subnets: readonly SubnetState[];
      readonly mappings: readonly SubnetMapping[];
      readonly families: Families;
      readonly warnings: readonly Problem[];
    }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Chooses subnets, in both families where that can be; who only prefers both is content with IPv4. */
export function placeBalancer(context: NetworkContext, internal: boolean): Placement {
  const { wanted, owner, state, configuration } = context;
  const { annotations, families } = wanted;
  const choose = (dualStack: boolean) =>
    chooseSubnets(
      {
        named: annotations.subnets,
        internal,
        clusterTag: owner.clusterTag,
        dualStack,
        fallbackId: configuration.subnetID,
        allow: allowedOf(configuration),
        isVpcConfigured: configuration.vpc !== undefined,
        attachedIds:
          state.network?.loadBalancer.AvailabilityZones?.flatMap(({ SubnetId }) => SubnetId ?? []) ?? [],
      },
      state.vpc,
    );
  const isDual = families.loadBalancer === "dualstack";
  const first = choose(isDual);
  if (first.kind === "act") throw new Error("subnets are chosen, never made");
  const problem = first.kind === "refused" ? first.problem : faultOfRanges(context);
  if (problem === undefined && first.kind === "ready") return placed(first.value, families, context);
  if (problem === undefined) throw new Error("subnets are chosen or refused");
  const refused = { kind: "refused", problem } as const;
  if (!isDual || families.isRequired) return refused;
  const second = choose(false);
  return second.kind === "ready" ? placed(second.value, IPV4, context, [refused.problem]) : refused;
}

/**
 * What comes by IPv6 reaches targets of IPv4 from the load balancer's own addresses, which health checks need to come in from: then only
 * security groups of the load balancer itself keep anybody out.
 */
function faultOfRanges(context: NetworkContext): Problem | undefined {
  const { families, sourceRanges } = context.wanted;
  const isTranslated = families.loadBalancer === "dualstack" && families.targets === "ipv4";
  const isOpen = sourceRanges === undefined || sourceRanges.includes("::/0");
  if (!isTranslated || isOpen || hasFrontGroups(context)) return undefined;
  return {
    code: "IPFamilies",
    field: "spec.ipFamilies",
    value: "IPv6",
    allowed:
      "IPv4 alone where source ranges are limited, unless the operator has set nlbSecurityGroupMode: Managed",
  };
}

function placed(
  subnets: readonly SubnetState[],
  families: Families,
  context: NetworkContext,
  warnings: readonly Problem[] = [],
): Placement {
  const { wanted } = context;
  const eips = wanted.annotations["eip-allocations"];
  const addresses = wanted.annotations["private-ipv4-addresses"];
  const counted = otherCount("eip-allocations", eips) ?? otherCount("private-ipv4-addresses", addresses);
  const problem = counted ?? faultOfAddresses(context);
  if (problem !== undefined) return { kind: "refused", problem };
  const mappings: SubnetMapping[] = [];
  for (const [index, { subnet }] of subnets.entries()) {
    const address = addresses?.find((each) => isInNetwork(each, subnet.CidrBlock ?? ""));
    if (addresses !== undefined && address === undefined)
      return { kind: "refused", problem: notIn(subnet.CidrBlock) };
    mappings.push({
      SubnetId: subnet.SubnetId,
      ...(eips === undefined ? {} : { AllocationId: eips[index] }),
      ...(address === undefined ? {} : { PrivateIPv4Address: address }),
    });
  }
  return { kind: "placed", subnets, mappings, families, warnings };

  function otherCount(
    suffix: "eip-allocations" | "private-ipv4-addresses",
    list: readonly string[] | undefined,
  ): Problem | undefined {
    if (list === undefined || list.length === subnets.length) return undefined;
    return {
      code: "ElasticIPsOfOtherCount",
      field: annotationName(suffix),
      value: list.join(","),
      allowed: `${subnets.length} of them, one for each subnet`,
    };
  }

  function notIn(network: string | undefined): Problem {
    return {
      code: "InvalidAnnotation",
      field: annotationName("private-ipv4-addresses"),
      value: addresses?.join(","),
      allowed: "one address of each subnet's network",
      detail: `none is in ${network}`,
    };
  }
}
