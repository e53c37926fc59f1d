import type * as ec2 from "@aws-sdk/client-ec2";
import type * as elb from "@aws-sdk/client-elastic-load-balancing";
import type * as elbv2 from "@aws-sdk/client-elastic-load-balancing-v2";
import type { LoadBalancerAction } from "#core/service/model.ts";

/**
 * Requests of the actions that change AWS, by service and operation: `elbv2:CreateTargetGroup`. An action's
 * parameters are the request in the form of AWS's API; its result is AWS's answer without `$metadata`.
 */
export interface AwsRequests {
  "ec2:CreateSecurityGroup": ec2.CreateSecurityGroupRequest;
  "ec2:DeleteSecurityGroup": ec2.DeleteSecurityGroupRequest;
  "ec2:AuthorizeSecurityGroupIngress": ec2.AuthorizeSecurityGroupIngressRequest;
  "ec2:RevokeSecurityGroupIngress": ec2.RevokeSecurityGroupIngressRequest;
  "ec2:UpdateSecurityGroupRuleDescriptionsIngress": ec2.UpdateSecurityGroupRuleDescriptionsIngressRequest;
  "ec2:CreateTags": ec2.CreateTagsRequest;
  "ec2:DeleteTags": ec2.DeleteTagsRequest;
  "ec2:CreateRoute": ec2.CreateRouteRequest;
  "ec2:ReplaceRoute": ec2.ReplaceRouteRequest;
  "ec2:DeleteRoute": ec2.DeleteRouteRequest;
  "ec2:ModifyInstanceAttribute": ec2.ModifyInstanceAttributeRequest;
  "ec2:ModifyNetworkInterfaceAttribute": ec2.ModifyNetworkInterfaceAttributeRequest;
  "elbv2:CreateLoadBalancer": elbv2.CreateLoadBalancerInput;
  "elbv2:DeleteLoadBalancer": elbv2.DeleteLoadBalancerInput;
  "elbv2:ModifyLoadBalancerAttributes": elbv2.ModifyLoadBalancerAttributesInput;
  "elbv2:SetSecurityGroups": elbv2.SetSecurityGroupsInput;
  "elbv2:SetSubnets": elbv2.SetSubnetsInput;
  "elbv2:SetIpAddressType": elbv2.SetIpAddressTypeInput;
  "elbv2:AddTags": elbv2.AddTagsInput;
  "elbv2:RemoveTags": elbv2.RemoveTagsInput;
  "elbv2:CreateTargetGroup": elbv2.CreateTargetGroupInput;
  "elbv2:ModifyTargetGroup": elbv2.ModifyTargetGroupInput;
  "elbv2:ModifyTargetGroupAttributes": elbv2.ModifyTargetGroupAttributesInput;
  "elbv2:DeleteTargetGroup": elbv2.DeleteTargetGroupInput;
  "elbv2:RegisterTargets": elbv2.RegisterTargetsInput;
  "elbv2:DeregisterTargets": elbv2.DeregisterTargetsInput;
  "elbv2:CreateListener": elbv2.CreateListenerInput;
  "elbv2:ModifyListener": elbv2.ModifyListenerInput;
  "elbv2:DeleteListener": elbv2.DeleteListenerInput;
  "elb:CreateLoadBalancer": elb.CreateAccessPointInput;
  "elb:DeleteLoadBalancer": elb.DeleteAccessPointInput;
  "elb:AddTags": elb.AddTagsInput;
  "elb:RemoveTags": elb.RemoveTagsInput;
  "elb:RegisterInstancesWithLoadBalancer": elb.RegisterEndPointsInput;
  "elb:DeregisterInstancesFromLoadBalancer": elb.DeregisterEndPointsInput;
  "elb:CreateLoadBalancerPolicy": elb.CreateLoadBalancerPolicyInput;
  "elb:SetLoadBalancerPoliciesForBackendServer": elb.SetLoadBalancerPoliciesForBackendServerInput;
  "elb:SetLoadBalancerPoliciesOfListener": elb.SetLoadBalancerPoliciesOfListenerInput;
  "elb:AttachLoadBalancerToSubnets": elb.AttachLoadBalancerToSubnetsInput;
  "elb:DetachLoadBalancerFromSubnets": elb.DetachLoadBalancerFromSubnetsInput;
  "elb:CreateLoadBalancerListeners": elb.CreateLoadBalancerListenerInput;
  "elb:DeleteLoadBalancerListeners": elb.DeleteLoadBalancerListenerInput;
  "elb:SetLoadBalancerListenerSSLCertificate": elb.SetLoadBalancerListenerSSLCertificateInput;
  "elb:ApplySecurityGroupsToLoadBalancer": elb.ApplySecurityGroupsToLoadBalancerInput;
  "elb:ConfigureHealthCheck": elb.ConfigureHealthCheckInput;
  "elb:ModifyLoadBalancerAttributes": elb.ModifyLoadBalancerAttributesInput;
}

/** An operation that changes AWS, such as `elbv2:CreateListener`. */
export type AwsActionName = keyof AwsRequests;

/** Builds an action from its name, its request, and the `target` that identifies the resource. */
export function buildAction<Name extends AwsActionName>(
  action: Name,
  target: string,
  request: AwsRequests[Name],
): LoadBalancerAction {
  return { action, target, parameters: { ...request } };
}
