import type * as ec2 from "@aws-sdk/client-ec2";
import type { AwsRequests } from "#clouds/aws/load-balancers/actions.ts";
import type { ExpectedRoute } from "#clouds/aws/routes/current-routes.ts";
import { isIPv6Network } from "#core/cidr.ts";
import { ACTIONS, type RouteActionName } from "#core/route/state.ts";

/** What EC2 is to be sent for an action of the capability. */
export interface RouteRequest {
  readonly action: keyof AwsRequests;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The route that it changes, and what that has to lead to still. */
  readonly expected?: ExpectedRoute;
}

/** What a route leads to: an instance with one network interface, or an interface of one with several, as EC2 will have it named. */
export type AwsTarget = { readonly instance: string } | { readonly interface: string };

/** The request of an action; undefined where there is no such action, or its parameters are not what it takes. */
export function requestOf(
  action: string,
  parameters: Readonly<Record<string, unknown>>,
): RouteRequest | undefined {
  if (!Object.hasOwn(ACTIONS, action)) return undefined;
  const schema = ACTIONS[action as RouteActionName];
  const parsed = schema.safeParse(parameters);
  if (!parsed.success) return undefined;
  const { table, cidr, target, leadsTo } = { ...NOTHING, ...parsed.data };
  const expected = leadsTo === undefined ? {} : { expected: { table, cidr, leadsTo } };
  const route = { RouteTableId: table, ...destinationOf(cidr) };
  switch (action as RouteActionName) {
    case "create":
      return sent<ec2.CreateRouteRequest>("ec2:CreateRoute", { ...route, ...leadingTo(target) });
    case "replace":
      return {
        ...sent<ec2.ReplaceRouteRequest>("ec2:ReplaceRoute", { ...route, ...leadingTo(target) }),
        ...expected,
      };
    case "delete":
      return { ...sent<ec2.DeleteRouteRequest>("ec2:DeleteRoute", route), ...expected };
    case "forward":
      return forwardRequest(target);
  }
}

/** What an action says that has no such parameter. */
const NOTHING: {
  readonly table: string;
  readonly cidr: string;
  readonly target: Readonly<Record<string, string>>;
  readonly leadsTo?: string | undefined;
} = { table: "", cidr: "", target: {} };

function forwardRequest(target: Readonly<Record<string, string>>): RouteRequest {
  const SourceDestCheck = { Value: false };
  const { InstanceId = "", NetworkInterfaceId } = leadingTo(target);
  return NetworkInterfaceId === undefined
    ? sent<ec2.ModifyInstanceAttributeRequest>("ec2:ModifyInstanceAttribute", { InstanceId, SourceDestCheck })
    : sent<ec2.ModifyNetworkInterfaceAttributeRequest>("ec2:ModifyNetworkInterfaceAttribute", {
        NetworkInterfaceId,
        SourceDestCheck,
      });
}

function sent<Request extends object>(action: keyof AwsRequests, request: Request): RouteRequest {
  return { action, parameters: Object.fromEntries(Object.entries(request)) };
}

function destinationOf(cidr: string): { DestinationCidrBlock?: string; DestinationIpv6CidrBlock?: string } {
  return isIPv6Network(cidr) ? { DestinationIpv6CidrBlock: cidr } : { DestinationCidrBlock: cidr };
}

function leadingTo(target: Readonly<Record<string, string>>): {
  InstanceId?: string;
  NetworkInterfaceId?: string;
} {
  const { instance, interface: eni } = target as { instance?: string; interface?: string };
  if (eni !== undefined) return { NetworkInterfaceId: eni };
  return instance === undefined ? {} : { InstanceId: instance };
}
