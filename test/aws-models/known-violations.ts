import type { ServiceName } from "./service-model.ts";
import type { Side } from "./violation.ts";

/** What AWS itself takes or answers against its model, with a value that shows it. */
export interface Deviation {
  readonly because: string;
  readonly call: `${ServiceName}:${string}`;
  readonly side: Side;
  readonly value: object;
}

/** By the violation's key. An entry that the model allows by now fails a test. */
export const DEVIATIONS: Readonly<Record<string, Deviation>> = {
  "elb:ModifyLoadBalancerAttributes request LoadBalancerAttributes.ConnectionSettings.IdleTimeout range": {
    because: "the User Guide for Classic Load Balancers allows 4000 seconds, the model 3600",
    call: "elb:ModifyLoadBalancerAttributes",
    side: "request",
    value: {
      LoadBalancerName: "web",
      LoadBalancerAttributes: { ConnectionSettings: { IdleTimeout: 4_000 } },
    },
  },
  "elb:DescribeLoadBalancerAttributes answer LoadBalancerAttributes.ConnectionSettings.IdleTimeout range": {
    because: "as above, when the attribute is read",
    call: "elb:DescribeLoadBalancerAttributes",
    side: "answer",
    value: { LoadBalancerAttributes: { ConnectionSettings: { IdleTimeout: 4_000 } } },
  },
  "elb:DescribeTags answer TagDescriptions[].Tags size": {
    because: "a load balancer without tags has an empty list",
    call: "elb:DescribeTags",
    side: "answer",
    value: { TagDescriptions: [{ LoadBalancerName: "web", Tags: [] }] },
  },
  "elbv2:DescribeTags answer TagDescriptions[].Tags size": {
    because: "a resource without tags has an empty list",
    call: "elbv2:DescribeTags",
    side: "answer",
    value: { TagDescriptions: [{ ResourceArn: "arn", Tags: [] }] },
  },
};

/**
 * What moto answers against AWS's models, by the violation's key, with the reason why it stays. An entry that moto
 * does not answer any more fails a test.
 */
export const MOTO_VIOLATIONS: Readonly<Record<string, string>> = {
  "ec2:CreateSubnet answer Subnet.Ipv6CidrBlockAssociationSet[].Ipv6CidrBlockState.State enum":
    "moto renders a structure as text; nothing reads it",
  "elbv2:DeleteTargetGroup answer  error":
    "moto answers TargetGroupNotFound; AWS documents no error for a missing target group",
};
