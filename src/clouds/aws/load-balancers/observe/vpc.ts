import type { Filter, RouteTable, Subnet } from "@aws-sdk/client-ec2";
import { toJson } from "#clouds/aws/actions/api.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { combineOutcomes, type Reader, readAllPages } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { SecurityGroupState, SubnetState } from "#clouds/aws/load-balancers/state.ts";
import { toPairs } from "#clouds/aws/load-balancers/tags.ts";
import { listClusterTagKeys } from "#clouds/aws/ownership.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** Reads the subnets of a VPC, with their route to the internet and zone type. */
export async function readSubnets(
  vpc: string,
  read: Reader,
  zoneTypes: ZoneTypes,
): Promise<Outcome<readonly SubnetState[]>> {
  const inVpc: Filter[] = [{ Name: "vpc-id", Values: [vpc] }];
  const outcomes = await Promise.all([
    readAllPages("DescribeSubnets", async (next) => {
      const answer = await read("ec2:DescribeSubnets", {
        Filters: inVpc,
        MaxResults: 1000,
        ...(next === undefined ? {} : { NextToken: next }),
      });
      return answer.kind === "fault"
        ? answer
        : ok({ values: answer.value.Subnets, next: answer.value.NextToken });
    }),
    readAllPages("DescribeRouteTables", async (next) => {
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
  const details = combineOutcomes<[readonly Subnet[], readonly RouteTable[]]>(outcomes);
  if (details.kind === "fault") return details;
  const [subnets, tables] = details.value;
  const types = await zoneTypes.read(
    subnets.flatMap(({ AvailabilityZone: zone }) => zone ?? []),
    read,
  );
  if (types.kind === "fault") return types;
  return ok(subnets.map((subnet) => toSubnetState(subnet, tables, types.value)));
}

/** Reads the security groups of a VPC with their rules; without a known VPC, those with the cluster's tag. */
export async function readSecurityGroups(
  vpc: string | undefined,
  clusterTag: string,
  read: Reader,
): Promise<Outcome<readonly SecurityGroupState[]>> {
  const filter =
    vpc === undefined
      ? { Name: "tag-key", Values: listClusterTagKeys(clusterTag) }
      : { Name: "vpc-id", Values: [vpc] };
  const listing = await readAllPages("DescribeSecurityGroups", async (next) => {
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
      group: toJson({ GroupId, GroupName, VpcId }),
      tags: toPairs(tags),
      ingress: ingress.map((permission) => toJson(permission)),
    })),
  );
}

function toSubnetState(
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
    subnet: toJson({
      SubnetId,
      AvailabilityZone,
      AvailabilityZoneId,
      CidrBlock,
      Ipv6CidrBlockAssociationSet,
    }),
    tags: toPairs(tags),
    isPublic: isPublic(SubnetId, tables),
    zoneType: types.get(AvailabilityZone ?? ""),
  };
}

/** Whether the subnet's route table, by default the main one, leads to an internet gateway. */
function isPublic(id: string | undefined, tables: readonly RouteTable[]): boolean | undefined {
  const ownTable = tables.find(({ Associations: all = [] }) => all.some(({ SubnetId }) => SubnetId === id));
  const table =
    ownTable ?? tables.find(({ Associations: all = [] }) => all.some(({ Main: isMain }) => isMain === true));
  return table?.Routes?.some(({ GatewayId: gateway }) => gateway?.startsWith("igw") === true) ?? undefined;
}

/** The type of each zone by name, cached for the life of the process. */
export interface ZoneTypes {
  /**
   * Returns the types of the known names. AWS is called for new names; an unknown name or a refusal is cached
   * for a minute.
   */
  read(names: readonly string[], read: Reader): Promise<Outcome<ReadonlyMap<string, string>>>;
}

/** Creates an empty cache. `now` is a monotonic clock in milliseconds. */
export function createZoneTypes(now: () => number): ZoneTypes {
  const typesByZone = new Map<string, string>();
  let freshUntilMs = Number.NEGATIVE_INFINITY;
  return {
    async read(names, read) {
      if (names.some((name) => !typesByZone.has(name)) && now() >= freshUntilMs) {
        const answer = await read("ec2:DescribeAvailabilityZones", {});
        if (answer.kind === "fault" && answer.fault.refused !== true) return answer;
        const zones = answer.kind === "fault" ? [] : answer.value.AvailabilityZones;
        if (zones === undefined)
          return fault("Unavailable", "DescribeAvailabilityZones: the answer is not a list");
        freshUntilMs = now() + FRESH_MS;
        for (const { ZoneName: name, ZoneType: type } of zones) {
          if (name && type && typesByZone.size < MAX_ZONES) typesByZone.set(name, type);
        }
      }
      return ok(typesByZone);
    },
  };
}

const FRESH_MS = 60_000;

const MAX_ZONES = 1_000;
