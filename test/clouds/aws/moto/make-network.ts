import {
  AssociateRouteTableCommand,
  AttachInternetGatewayCommand,
  CreateInternetGatewayCommand,
  CreateRouteCommand,
  CreateRouteTableCommand,
  CreateSecurityGroupCommand,
  CreateSubnetCommand,
  CreateVpcCommand,
  type EC2Client,
  RunInstancesCommand,
  type Tag,
} from "@aws-sdk/client-ec2";
import { REGION } from "./clients.ts";

/** A VPC with a public subnet in each of two zones, and a security group for nodes. */
export interface Network {
  readonly vpc: string;
  readonly subnets: readonly [string, string];
  readonly routeTable: string;
  /** The internet gateway's ID. */
  readonly gateways: readonly string[];
  readonly nodeGroup: string;
  /** Makes one more subnet in the zone of the first one. */
  twinSubnet(): Promise<string>;
  /** Starts instances of the cluster in the first subnet; returns their IDs. */
  launch(count: number): Promise<string[]>;
}

export interface NetworkOptions {
  /** The value of `<tag>` in `kubernetes.io/cluster/<tag>`. */
  readonly clusterTag: string;
  /** `10.<number>.0.0/16`. */
  readonly number?: number;
}

/** One of the images that moto knows. */
export const IMAGE_ID = "ami-0abcdef1234567890";

export async function makeNetwork(
  ec2: EC2Client,
  { clusterTag, number = 20 }: NetworkOptions,
): Promise<Network> {
  const owned = [{ Key: `kubernetes.io/cluster/${clusterTag}`, Value: "owned" }];
  const { Vpc } = await ec2.send(
    new CreateVpcCommand({ CidrBlock: `10.${number}.0.0/16`, AmazonProvidedIpv6CidrBlock: true }),
  );
  const vpc = there(Vpc?.VpcId);
  const block = there(Vpc?.Ipv6CidrBlockAssociationSet?.[0]?.Ipv6CidrBlock);
  const { InternetGateway } = await ec2.send(new CreateInternetGatewayCommand({}));
  const InternetGatewayId = there(InternetGateway?.InternetGatewayId);
  await ec2.send(new AttachInternetGatewayCommand({ VpcId: vpc, InternetGatewayId }));
  const { RouteTable } = await ec2.send(
    new CreateRouteTableCommand({ VpcId: vpc, TagSpecifications: tagged("route-table", owned) }),
  );
  const routeTable = there(RouteTable?.RouteTableId);
  await ec2.send(
    new CreateRouteCommand({
      RouteTableId: routeTable,
      DestinationCidrBlock: "0.0.0.0/0",
      GatewayId: InternetGatewayId,
    }),
  );
  const subnet = async (index: number, zone = index): Promise<string> => {
    const { Subnet } = await ec2.send(
      new CreateSubnetCommand({
        VpcId: vpc,
        CidrBlock: `10.${number}.${index * 16}.0/20`,
        Ipv6CidrBlock: block.replace("00::/56", `0${index}::/64`),
        AvailabilityZone: `${REGION}${"ab"[zone]}`,
        TagSpecifications: tagged("subnet", owned),
      }),
    );
    const SubnetId = there(Subnet?.SubnetId);
    await ec2.send(new AssociateRouteTableCommand({ RouteTableId: routeTable, SubnetId }));
    return SubnetId;
  };
  const subnets = [await subnet(0), await subnet(1)] as const;
  const { GroupId } = await ec2.send(
    new CreateSecurityGroupCommand({
      GroupName: "nodes",
      Description: "nodes",
      VpcId: vpc,
      TagSpecifications: tagged("security-group", owned),
    }),
  );
  const nodeGroup = there(GroupId);
  return {
    vpc,
    subnets,
    routeTable,
    gateways: [InternetGatewayId],
    nodeGroup,
    twinSubnet: () => subnet(2, 0),
    launch: async (count) => {
      const { Instances = [] } = await ec2.send(
        new RunInstancesCommand({
          ImageId: IMAGE_ID,
          InstanceType: "m7i.large",
          MinCount: count,
          MaxCount: count,
          SubnetId: subnets[0],
          SecurityGroupIds: [nodeGroup],
          TagSpecifications: tagged("instance", owned),
        }),
      );
      return Instances.map(({ InstanceId }) => there(InstanceId));
    },
  };
}

function tagged<Kind extends string>(
  kind: Kind,
  tags: readonly Tag[],
): { ResourceType: Kind; Tags: Tag[] }[] {
  return [{ ResourceType: kind, Tags: [...tags] }];
}

function there<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("moto's answer lacks what AWS's always has");
  return value;
}
