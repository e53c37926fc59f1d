import type * as ec2 from "@aws-sdk/client-ec2";
import type { AwsRequests } from "#clouds/aws/load-balancers/actions.ts";
import type { ExpectedRoute } from "#clouds/aws/routes/current-routes.ts";
import { isIPv6Network } from "#core/cidr.ts";
import { ACTIONS, type RouteActionName } from "#core/route/state.ts";

/** The request to EC2 for an action of the capability. */
export interface RouteRequest {
  readonly action: keyof AwsRequests;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The route that it changes, and the target that it must still have. */
  readonly expected?: ExpectedRoute;
}

/**
 * A route's target as EC2 requires it: an instance with one network interface, or one interface of an
 * instance with several.
 */
export type AwsTarget = { readonly instance: string } | { readonly interface: string };

/** Builds the request of an action; undefined for an unknown action or invalid parameters. */
export function buildRequest(
  action: string,
  parameters: Readonly<Record<string, unknown>>,
): RouteRequest | undefined {
  if (!Object.hasOwn(ACTIONS, action)) return undefined;
  const schema = ACTIONS[action as RouteActionName];
  const parsed = schema.safeParse(parameters);
  if (!parsed.success) return undefined;
  const { table, cidr, target, leadsTo } = { ...NOTHING, ...parsed.data };
  const expected = leadsTo === undefined ? {} : { expected: { table, cidr, leadsTo } };
  const route = { RouteTableId: table, ...buildDestination(cidr) };
  switch (action as RouteActionName) {
    case "create":
      return buildSent<ec2.CreateRouteRequest>("ec2:CreateRoute", { ...route, ...buildTarget(target) });
    case "replace":
      return {
        ...buildSent<ec2.ReplaceRouteRequest>("ec2:ReplaceRoute", { ...route, ...buildTarget(target) }),
        ...expected,
      };
    case "delete":
      return { ...buildSent<ec2.DeleteRouteRequest>("ec2:DeleteRoute", route), ...expected };
    case "forward":
      return buildForwardRequest(target);
  }
}

/** Values of the parameters that an action does not have. */
const NOTHING: {
  readonly table: string;
  readonly cidr: string;
  readonly target: Readonly<Record<string, string>>;
  readonly leadsTo?: string | undefined;
} = { table: "", cidr: "", target: {} };

function buildForwardRequest(target: Readonly<Record<string, string>>): RouteRequest {
  const SourceDestCheck = { Value: false };
  const { InstanceId = "", NetworkInterfaceId } = buildTarget(target);
  return NetworkInterfaceId === undefined
    ? buildSent<ec2.ModifyInstanceAttributeRequest>("ec2:ModifyInstanceAttribute", {
        InstanceId,
        SourceDestCheck,
      })
    : buildSent<ec2.ModifyNetworkInterfaceAttributeRequest>("ec2:ModifyNetworkInterfaceAttribute", {
        NetworkInterfaceId,
        SourceDestCheck,
      });
}

function buildSent<Request extends object>(action: keyof AwsRequests, request: Request): RouteRequest {
  return { action, parameters: Object.fromEntries(Object.entries(request)) };
}

function buildDestination(cidr: string): {
  DestinationCidrBlock?: string;
  DestinationIpv6CidrBlock?: string;
} {
  return isIPv6Network(cidr) ? { DestinationIpv6CidrBlock: cidr } : { DestinationCidrBlock: cidr };
}

function buildTarget(target: Readonly<Record<string, string>>): {
  InstanceId?: string;
  NetworkInterfaceId?: string;
} {
  const { instance, interface: eni } = target as { instance?: string; interface?: string };
  if (eni !== undefined) return { NetworkInterfaceId: eni };
  return instance === undefined ? {} : { InstanceId: instance };
}
