import type { Filter, RouteTable, Subnet } from "@aws-sdk/client-ec2";
import { jsonOf } from "#clouds/aws/actions/json-of.ts";
import { clusterTagKeys } from "#clouds/aws/belonging.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { gathered } from "#clouds/aws/load-balancers/observe/gathered.ts";
import { allPages, type Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { ZoneTypes } from "#clouds/aws/load-balancers/observe/zone-types.ts";
import type { SecurityGroupState, SubnetState } from "#clouds/aws/load-balancers/state.ts";
import { pairsOf } from "#clouds/aws/load-balancers/vpc/tags.ts";
import { ok } from "#clouds/outcome.ts";

/** The subnets of a VPC, where they lead to and in what kind of zone they are. */
export async function subnetsOf(
  vpc: string,
  read: Reader,
  zoneTypes: ZoneTypes,
): Promise<Outcome<readonly SubnetState[]>> {
  const inVpc: Filter[] = [{ Name: "vpc-id", Values: [vpc] }];
  const both = await Promise.all([
    allPages("DescribeSubnets", async (next) => {
      const answer = await read("ec2:DescribeSubnets", {
        Filters: inVpc,
        MaxResults: 1000,
        ...(next === undefined ? {} : { NextToken: next }),
      });
      return answer.kind === "fault"
        ? answer
        : ok({ values: answer.value.Subnets, next: answer.value.NextToken });
    }),
    allPages("DescribeRouteTables", async (next) => {
      const answer = await read("ec2:DescribeRouteTables", {
        Filters: inVpc,
        MaxResults: 100,
        ...(next === undefined ? {} : { NextToken: next }),
      });
      return answer.kind === "fault"
        ? answer
        : ok({ values: answer.value.RouteTables, next: answer.value.NextToken });
    }),
  ]);
  const known = gathered<[readonly Subnet[], readonly RouteTable[]]>(both);
  if (known.kind === "fault") return known;
  const [subnets, tables] = known.value;
  const types = await zoneTypes.of(
    subnets.flatMap(({ AvailabilityZone: zone }) => zone ?? []),
    read,
  );
  if (types.kind === "fault") return types;
  return ok(subnets.map((subnet) => stateOf(subnet, tables, types.value)));
}

/** The security groups of a VPC with their rules; where that is not known, those that carry the cluster's tag. */
export async function groupsOf(
  vpc: string | undefined,
  clusterTag: string,
  read: Reader,
): Promise<Outcome<readonly SecurityGroupState[]>> {
  const filter =
    vpc === undefined
      ? { Name: "tag-key", Values: clusterTagKeys(clusterTag) }
      : { Name: "vpc-id", Values: [vpc] };
  const listing = await allPages("DescribeSecurityGroups", async (next) => {
    const answer = await read("ec2:DescribeSecurityGroups", {
      Filters: [filter],
      MaxResults: 1000,
      ...(next === undefined ? {} : { NextToken: next }),
    });
    return answer.kind === "fault"
      ? answer
      : ok({ values: answer.value.SecurityGroups, next: answer.value.NextToken });
  });
  if (listing.kind === "fault") return listing;
  return ok(
    listing.value.map(({ GroupId, GroupName, VpcId, Tags: tags, IpPermissions: ingress = [] }) => ({
      group: jsonOf({ GroupId, GroupName, VpcId }),
      tags: pairsOf(tags),
      ingress: ingress.map((permission) => jsonOf(permission)),
    })),
  );
}

function stateOf(
  {
    SubnetId,
    AvailabilityZone,
    AvailabilityZoneId,
    CidrBlock,
    Ipv6CidrBlockAssociationSet,
    Tags: tags,
  }: Subnet,
  tables: readonly RouteTable[],
  types: ReadonlyMap<string, string>,
): SubnetState {
  return {
    subnet: jsonOf({
      SubnetId,
      AvailabilityZone,
      AvailabilityZoneId,
      CidrBlock,
      Ipv6CidrBlockAssociationSet,
    }),
    tags: pairsOf(tags),
    isPublic: isPublic(SubnetId, tables),
    zoneType: types.get(AvailabilityZone ?? ""),
  };
}

/** Whether its route table, which is the main one where it has none of its own, leads to an internet gateway. */
function isPublic(id: string | undefined, tables: readonly RouteTable[]): boolean | undefined {
  const own = tables.find(({ Associations: all = [] }) => all.some(({ SubnetId }) => SubnetId === id));
  const table =
    own ?? tables.find(({ Associations: all = [] }) => all.some(({ Main: isMain }) => isMain === true));
  return table?.Routes?.some(({ GatewayId: gateway }) => gateway?.startsWith("igw") === true) ?? undefined;
}
