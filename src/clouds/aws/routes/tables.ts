import type { Route as Ec2Route, RouteTable as Ec2RouteTable, Filter } from "@aws-sdk/client-ec2";
import type { Api } from "#clouds/aws/actions/api.ts";
import { MAX_PAGES } from "#clouds/aws/describe-instances.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { type AwsCluster, checkResourceOwnership, listClusterTagKeys } from "#clouds/aws/ownership.ts";
import type { Session } from "#clouds/aws/session.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { type Cidr, formatCidr, isWithin, parseCidr } from "#core/cidr.ts";

/** The route tables of a cluster, or the reason why none can be changed. */
export type FoundTables =
  | { readonly kind: "tables"; readonly tables: readonly FoundTable[] }
  | { readonly kind: "no-tables"; readonly message: string };

/** The relevant fields of a route table. */
export interface FoundTable {
  readonly id: string;
  readonly size: number;
  /** Networks of the VPC. */
  readonly networks: readonly string[];
  /** Routes within the cluster's networks. */
  readonly routes: readonly FoundRoute[];
}

/** A route, and its target as far as the table names it. */
export interface FoundRoute {
  readonly cidr: string;
  readonly text: string;
  readonly blackhole: boolean;
  readonly target:
    | { readonly kind: "instance" | "interface"; readonly id: string }
    | { readonly kind: "nothing" | "other" };
}

/** Returns the target's id, or `nothing`; undefined if the cluster must not touch the route. */
export function getRouteTargetId({ target }: Pick<FoundRoute, "target">): string | undefined {
  if ("id" in target) return target.id;
  return target.kind === "nothing" ? target.kind : undefined;
}

/** EC2's largest page of route tables. */
const PAGE_SIZE = 100;

/** Finds the configured tables, or those with the cluster's tag: one per zone or one for all. */
export async function findTables(
  session: Session<Api>,
  cluster: AwsCluster,
  clusterNetworks: readonly Cidr[],
): Promise<Outcome<FoundTables>> {
  const query = buildTableQuery(cluster);
  if (query === undefined) return ok(buildNoTables("neither routeTableIDs nor clusterTag is configured"));
  const described = await describeTables(session, query.filters);
  if (described.kind === "fault") return described;
  const tables = described.value.filter((table) => query.isOurs(table));
  const missing = query.ids.filter((id) => !tables.some(({ RouteTableId }) => RouteTableId === id));
  if (missing.length > 0) {
    const place = cluster.vpc === undefined ? "" : ` in ${cluster.vpc}`;
    return ok(buildNoTables(`there is no route table ${missing.join(", ")}${place}: correct routeTableIDs`));
  }
  if (tables.length === 0) return ok(buildNoTables(query.remedy));
  const vpcs = [...new Set(tables.map(({ VpcId }) => VpcId))];
  if (vpcs.length > 1)
    return ok(
      buildNoTables(`route tables of several VPCs (${vpcs.join(", ")}) are the cluster's: configure vpc`),
    );
  return ok({ kind: "tables", tables: tables.map((table) => parseTable(table, clusterNetworks)) });
}

interface TableQuery {
  readonly filters: Filter[];
  readonly ids: readonly string[];
  isOurs(table: Ec2RouteTable): boolean;
  readonly remedy: string;
}

function buildTableQuery({
  vpc,
  clusterTag,
  clusterName,
  routeTableIDs,
}: AwsCluster): TableQuery | undefined {
  if (routeTableIDs !== undefined) {
    return {
      filters: [{ Name: "route-table-id", Values: [...routeTableIDs] }],
      ids: routeTableIDs,
      isOurs: ({ VpcId }) => vpc === undefined || VpcId === vpc,
      remedy: "routeTableIDs names no route table",
    };
  }
  const name = clusterTag ?? clusterName;
  if (name === undefined) return undefined;
  return {
    filters: [
      ...(vpc === undefined ? [] : [{ Name: "vpc-id", Values: [vpc] }]),
      { Name: "tag-key", Values: listClusterTagKeys(name) },
    ],
    ids: [],
    isOurs: ({ VpcId, Tags: tags }) =>
      checkResourceOwnership({ vpc, clusterTag: name }, { vpc: VpcId, tags }) === undefined,
    remedy: `no route table carries the tag kubernetes.io/cluster/${name}: tag those of the nodes' subnets, or name them as routeTableIDs`,
  };
}

function buildNoTables(message: string): FoundTables {
  return { kind: "no-tables", message };
}

async function describeTables(
  session: Session<Api>,
  filters: readonly Filter[],
): Promise<Outcome<readonly Ec2RouteTable[]>> {
  const tables: Ec2RouteTable[] = [];
  let token: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const request = { Filters: filters, MaxResults: PAGE_SIZE, ...(token ? { NextToken: token } : {}) };
    const answer = await session.send("DescribeRouteTables", (api, signal) =>
      api.call("ec2:DescribeRouteTables", request, signal),
    );
    if (answer.kind === "fault") return answer;
    const { RouteTables, NextToken } = answer.value as {
      readonly RouteTables?: readonly Ec2RouteTable[];
      readonly NextToken?: string;
    };
    if (RouteTables === undefined)
      return fault("Unavailable", "DescribeRouteTables: the answer is not a list of route tables");
    tables.push(...RouteTables);
    token = NextToken;
    if (!token) return ok(tables);
  }
  return fault("Unavailable", `DescribeRouteTables: there is no end after ${MAX_PAGES} pages`);
}

function parseTable(
  { RouteTableId: id = "", Routes: routes = [] }: Ec2RouteTable,
  clusterNetworks: readonly Cidr[],
): FoundTable {
  const found = routes.flatMap((route) => {
    const text = route.DestinationCidrBlock ?? route.DestinationIpv6CidrBlock ?? "";
    const network = parseCidr(text);
    return network === undefined ? [] : [{ route, text, network, cidr: formatCidr(network) }];
  });
  return {
    id,
    size: routes.length,
    networks: found.flatMap(({ route, cidr }) => (route.GatewayId === "local" ? [cidr] : [])),
    routes: found
      .filter(({ network }) => clusterNetworks.some((each) => isWithin(network, each)))
      .map(({ route, text, cidr }) => ({
        cidr,
        text,
        blackhole: route.State === "blackhole",
        target: parseRouteTarget(route),
      })),
  };
}

/**
 * Fields of a route to an instance or network interface. A route with any other field leads elsewhere, which
 * covers future fields of EC2.
 */
const INSTANCE_ROUTE_FIELDS: ReadonlySet<string> = new Set([
  "DestinationCidrBlock",
  "DestinationIpv6CidrBlock",
  "InstanceId",
  "InstanceOwnerId",
  "NetworkInterfaceId",
  "Origin",
  "State",
]);

function parseRouteTarget(route: Ec2Route): FoundRoute["target"] {
  const fields = Object.entries(route).filter(([, value]) => value !== undefined && value !== "");
  if (fields.some(([key]) => !INSTANCE_ROUTE_FIELDS.has(key)) || route.Origin === "EnableVgwRoutePropagation")
    return { kind: "other" };
  if (route.InstanceId) return { kind: "instance", id: route.InstanceId };
  if (route.NetworkInterfaceId) return { kind: "interface", id: route.NetworkInterfaceId };
  return { kind: route.State === "blackhole" ? "nothing" : "other" };
}
