import {
  CreateRouteCommand,
  DeleteRouteCommand,
  DescribeRouteTablesCommand,
  EC2Client,
  ModifyInstanceAttributeCommand,
  ModifyNetworkInterfaceAttributeCommand,
  ReplaceRouteCommand,
} from "@aws-sdk/client-ec2";
import type { ApiParts, Commands } from "#clouds/aws/actions/api.ts";

/** Actions that change routes. */
export const ROUTE_ACTIONS = {
  "ec2:CreateRoute": CreateRouteCommand,
  "ec2:ReplaceRoute": ReplaceRouteCommand,
  "ec2:DeleteRoute": DeleteRouteCommand,
  "ec2:ModifyInstanceAttribute": ModifyInstanceAttributeCommand,
  "ec2:ModifyNetworkInterfaceAttribute": ModifyNetworkInterfaceAttributeCommand,
} as const satisfies Commands;

/** Commands that read routes; instances are read as for nodes. */
export const ROUTE_COMMANDS: Commands = {
  ...ROUTE_ACTIONS,
  "ec2:DescribeRouteTables": DescribeRouteTablesCommand,
};

/** The only service that routes need. */
export const ROUTE_SERVICES: ApiParts["services"] = { ec2: (options) => new EC2Client(options) };
