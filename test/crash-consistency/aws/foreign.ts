import {
  AuthorizeSecurityGroupIngressCommand,
  CreateRouteCommand,
  CreateSecurityGroupCommand,
} from "@aws-sdk/client-ec2";
import { CreateLoadBalancerCommand as CreateClassicCommand } from "@aws-sdk/client-elastic-load-balancing";
import {
  CreateListenerCommand,
  CreateLoadBalancerCommand,
  CreateTargetGroupCommand,
  DescribeLoadBalancersCommand,
  RegisterTargetsCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import type { Clients } from "#test/clouds/aws/moto/clients.ts";
import type { Network } from "#test/clouds/aws/moto/make-network.ts";

/** Named like the load balancer of a Service with another uid. */
const FOREIGN_NAME = `a${"0123456789abcdef".repeat(2).slice(1)}`;

/** Creates a foreign network load balancer and returns its ARN. */
export async function createForeignLoadBalancer(aws: Clients): Promise<string> {
  const { LoadBalancers } = await aws.elbv2.send(new DescribeLoadBalancersCommand({ Names: [FOREIGN_NAME] }));
  return LoadBalancers?.[0]?.LoadBalancerArn ?? "";
}

/**
 * Creates foreign resources that resemble ours as closely as possible. They are load balancers of another
 * cluster for a Service of the same name on the same instances; their rules and manual rules on our nodes'
 * group, their groups, and a route.
 */
export async function makeForeignThings(aws: Clients, network: Network, instance: string): Promise<void> {
  const Tags = [
    { Key: "kubernetes.io/cluster/other", Value: "owned" },
    { Key: "kubernetes.io/service-name", Value: "default/web" },
  ];
  const name = FOREIGN_NAME;
  const made = await aws.ec2.send(
    new CreateSecurityGroupCommand({
      GroupName: `k8s-elb-${name}`,
      Description: "of another cluster",
      VpcId: network.vpc,
      TagSpecifications: [{ ResourceType: "security-group", Tags }],
    }),
  );
  const GroupId = made.GroupId ?? "";
  await aws.ec2.send(
    new AuthorizeSecurityGroupIngressCommand({
      GroupId: network.nodeGroup,
      IpPermissions: [
        {
          IpProtocol: "tcp",
          FromPort: 30_080,
          ToPort: 30_080,
          IpRanges: [{ CidrIp: "198.51.100.0/24", Description: `kubernetes.io/rule/nlb/client=${name}` }],
        },
        {
          IpProtocol: "icmp",
          FromPort: 3,
          ToPort: 4,
          IpRanges: [{ CidrIp: "198.51.100.0/24", Description: "kubernetes.io/rule/nlb/mtu" }],
        },
        {
          IpProtocol: "tcp",
          FromPort: 22,
          ToPort: 22,
          IpRanges: [{ CidrIp: "10.0.0.0/8", Description: "ssh" }],
        },
        { IpProtocol: "-1", UserIdGroupPairs: [{ GroupId }] },
        { IpProtocol: "-1", UserIdGroupPairs: [{ GroupId: network.nodeGroup }] },
      ],
    }),
  );
  const [subnet] = network.subnets;
  const { LoadBalancers } = await aws.elbv2.send(
    new CreateLoadBalancerCommand({
      Name: name,
      Type: "network",
      Subnets: [subnet],
      SecurityGroups: [GroupId],
      Tags,
    }),
  );
  const { TargetGroups } = await aws.elbv2.send(
    new CreateTargetGroupCommand({
      Name: "k8s-default-web-0123456789",
      Protocol: "TCP",
      Port: 30_080,
      VpcId: network.vpc,
      Tags,
    }),
  );
  const TargetGroupArn = TargetGroups?.[0]?.TargetGroupArn;
  await aws.elbv2.send(new RegisterTargetsCommand({ TargetGroupArn, Targets: [{ Id: instance }] }));
  await aws.elbv2.send(
    new CreateListenerCommand({
      LoadBalancerArn: LoadBalancers?.[0]?.LoadBalancerArn,
      Protocol: "TCP",
      Port: 80,
      DefaultActions: [{ Type: "forward", TargetGroupArn }],
      Tags,
    }),
  );
  await aws.elb.send(
    new CreateClassicCommand({
      LoadBalancerName: `${name.slice(0, -1)}f`,
      Listeners: [{ Protocol: "TCP", LoadBalancerPort: 80, InstanceProtocol: "TCP", InstancePort: 30_080 }],
      Subnets: [subnet],
      SecurityGroups: [GroupId],
      Tags,
    }),
  );
  await aws.ec2.send(
    new CreateRouteCommand({
      RouteTableId: network.routeTable,
      DestinationCidrBlock: "10.200.0.0/24",
      InstanceId: instance,
    }),
  );
}
