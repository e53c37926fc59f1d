import * as ec2 from "@aws-sdk/client-ec2";
import * as elb from "@aws-sdk/client-elastic-load-balancing";
import * as elbv2 from "@aws-sdk/client-elastic-load-balancing-v2";
import type { ClientOptions, Command, SdkClient, Service } from "#clouds/aws/actions/api.ts";
import type { AwsActionName } from "#clouds/aws/load-balancers/actions.ts";
import type { AwsRead } from "#clouds/aws/load-balancers/observe/reads.ts";

/** Commands that change load balancers; none of them changes a route or an instance. */
export const LOAD_BALANCER_ACTIONS = {
  "ec2:CreateSecurityGroup": ec2.CreateSecurityGroupCommand,
  "ec2:DeleteSecurityGroup": ec2.DeleteSecurityGroupCommand,
  "ec2:AuthorizeSecurityGroupIngress": ec2.AuthorizeSecurityGroupIngressCommand,
  "ec2:RevokeSecurityGroupIngress": ec2.RevokeSecurityGroupIngressCommand,
  "ec2:UpdateSecurityGroupRuleDescriptionsIngress": ec2.UpdateSecurityGroupRuleDescriptionsIngressCommand,
  "ec2:CreateTags": ec2.CreateTagsCommand,
  "ec2:DeleteTags": ec2.DeleteTagsCommand,
  "elbv2:CreateLoadBalancer": elbv2.CreateLoadBalancerCommand,
  "elbv2:DeleteLoadBalancer": elbv2.DeleteLoadBalancerCommand,
  "elbv2:ModifyLoadBalancerAttributes": elbv2.ModifyLoadBalancerAttributesCommand,
  "elbv2:SetSecurityGroups": elbv2.SetSecurityGroupsCommand,
  "elbv2:SetSubnets": elbv2.SetSubnetsCommand,
  "elbv2:SetIpAddressType": elbv2.SetIpAddressTypeCommand,
  "elbv2:AddTags": elbv2.AddTagsCommand,
  "elbv2:RemoveTags": elbv2.RemoveTagsCommand,
  "elbv2:CreateTargetGroup": elbv2.CreateTargetGroupCommand,
  "elbv2:ModifyTargetGroup": elbv2.ModifyTargetGroupCommand,
  "elbv2:ModifyTargetGroupAttributes": elbv2.ModifyTargetGroupAttributesCommand,
  "elbv2:DeleteTargetGroup": elbv2.DeleteTargetGroupCommand,
  "elbv2:RegisterTargets": elbv2.RegisterTargetsCommand,
  "elbv2:DeregisterTargets": elbv2.DeregisterTargetsCommand,
  "elbv2:CreateListener": elbv2.CreateListenerCommand,
  "elbv2:ModifyListener": elbv2.ModifyListenerCommand,
  "elbv2:DeleteListener": elbv2.DeleteListenerCommand,
  "elb:CreateLoadBalancer": elb.CreateLoadBalancerCommand,
  "elb:DeleteLoadBalancer": elb.DeleteLoadBalancerCommand,
  "elb:AddTags": elb.AddTagsCommand,
  "elb:RemoveTags": elb.RemoveTagsCommand,
  "elb:RegisterInstancesWithLoadBalancer": elb.RegisterInstancesWithLoadBalancerCommand,
  "elb:DeregisterInstancesFromLoadBalancer": elb.DeregisterInstancesFromLoadBalancerCommand,
  "elb:CreateLoadBalancerPolicy": elb.CreateLoadBalancerPolicyCommand,
  "elb:SetLoadBalancerPoliciesForBackendServer": elb.SetLoadBalancerPoliciesForBackendServerCommand,
  "elb:SetLoadBalancerPoliciesOfListener": elb.SetLoadBalancerPoliciesOfListenerCommand,
  "elb:AttachLoadBalancerToSubnets": elb.AttachLoadBalancerToSubnetsCommand,
  "elb:DetachLoadBalancerFromSubnets": elb.DetachLoadBalancerFromSubnetsCommand,
  "elb:CreateLoadBalancerListeners": elb.CreateLoadBalancerListenersCommand,
  "elb:DeleteLoadBalancerListeners": elb.DeleteLoadBalancerListenersCommand,
  "elb:SetLoadBalancerListenerSSLCertificate": elb.SetLoadBalancerListenerSSLCertificateCommand,
  "elb:ApplySecurityGroupsToLoadBalancer": elb.ApplySecurityGroupsToLoadBalancerCommand,
  "elb:ConfigureHealthCheck": elb.ConfigureHealthCheckCommand,
  "elb:ModifyLoadBalancerAttributes": elb.ModifyLoadBalancerAttributesCommand,
} as const satisfies Partial<Record<AwsActionName, Command>>;

/** Commands that read load balancers. */
export const LOAD_BALANCER_READS = {
  "ec2:DescribeInstances": ec2.DescribeInstancesCommand,
  "ec2:DescribeSubnets": ec2.DescribeSubnetsCommand,
  "ec2:DescribeRouteTables": ec2.DescribeRouteTablesCommand,
  "ec2:DescribeSecurityGroups": ec2.DescribeSecurityGroupsCommand,
  "ec2:DescribeNetworkInterfaces": ec2.DescribeNetworkInterfacesCommand,
  "ec2:DescribeAddresses": ec2.DescribeAddressesCommand,
  "ec2:DescribeAvailabilityZones": ec2.DescribeAvailabilityZonesCommand,
  "elbv2:DescribeLoadBalancers": elbv2.DescribeLoadBalancersCommand,
  "elbv2:DescribeLoadBalancerAttributes": elbv2.DescribeLoadBalancerAttributesCommand,
  "elbv2:DescribeListeners": elbv2.DescribeListenersCommand,
  "elbv2:DescribeTags": elbv2.DescribeTagsCommand,
  "elbv2:DescribeTargetGroups": elbv2.DescribeTargetGroupsCommand,
  "elbv2:DescribeTargetGroupAttributes": elbv2.DescribeTargetGroupAttributesCommand,
  "elbv2:DescribeTargetHealth": elbv2.DescribeTargetHealthCommand,
  "elb:DescribeLoadBalancers": elb.DescribeLoadBalancersCommand,
  "elb:DescribeLoadBalancerAttributes": elb.DescribeLoadBalancerAttributesCommand,
  "elb:DescribeLoadBalancerPolicies": elb.DescribeLoadBalancerPoliciesCommand,
  "elb:DescribeTags": elb.DescribeTagsCommand,
} as const satisfies Record<AwsRead, Command>;

/** The SDK's clients of the services that load balancers need. */
export const LOAD_BALANCER_SERVICES: Readonly<Record<Service, (options: ClientOptions) => SdkClient>> = {
  ec2: (options) => new ec2.EC2Client(options),
  elb: (options) => new elb.ElasticLoadBalancingClient(options),
  elbv2: (options) => new elbv2.ElasticLoadBalancingV2Client(options),
};
