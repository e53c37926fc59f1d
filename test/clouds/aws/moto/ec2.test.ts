import {
  AttachNetworkInterfaceCommand,
  AuthorizeSecurityGroupIngressCommand,
  CreateNetworkInterfaceCommand,
  CreateRouteCommand,
  CreateSecurityGroupCommand,
  DeleteRouteCommand,
  DeleteSecurityGroupCommand,
  DescribeInstancesCommand,
  DescribeInstanceTopologyCommand,
  DescribeNetworkInterfacesCommand,
  DescribeRouteTablesCommand,
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  type IpPermission,
  ModifyInstanceAttributeCommand,
  ModifyNetworkInterfaceAttributeCommand,
  ReplaceRouteCommand,
  RevokeSecurityGroupIngressCommand,
  type Route,
  RunInstancesCommand,
  StartInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from "@aws-sdk/client-ec2";
import { CreateLoadBalancerCommand as CreateClassicCommand } from "@aws-sdk/client-elastic-load-balancing";
import {
  CreateLoadBalancerCommand,
  DeleteLoadBalancerCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWithPart } from "#test/setup/parts.ts";
import { type Clients, createClients, getErrorCode } from "./clients.ts";
import { IMAGE_ID, makeNetwork, type Network } from "./make-network.ts";
import { type MendedMoto, startMendedMoto } from "./start-mended-moto.ts";

describeWithPart("moto", "EC2 on mended moto", (program) => {
  let moto: MendedMoto;
  let aws: Clients;
  let network: Network;
  let named = 0;

  beforeAll(async () => {
    moto = await startMendedMoto(program);
    aws = createClients(moto.url);
    network = await makeNetwork(aws.ec2, { clusterTag: "one" });
  });
  afterAll(async () => {
    aws?.close();
    await moto?.close();
  });

  test("have no network topology of instances of usual types", async () => {
    const [id = ""] = await network.launch(1);
    const { Instances } = await aws.ec2.send(new DescribeInstanceTopologyCommand({ InstanceIds: [id] }));
    expect(Instances).toEqual([]);
  });

  const launchOne = async (): Promise<string> => (await network.launch(1))[0] ?? "";
  const interfaceOf = async (id: string) => {
    const { NetworkInterfaces } = await aws.ec2.send(
      new DescribeNetworkInterfacesCommand({
        Filters: [{ Name: "attachment.instance-id", Values: [id] }],
      }),
    );
    return NetworkInterfaces?.[0];
  };
  const secondInterface = async (id: string): Promise<string> => {
    const { NetworkInterface } = await aws.ec2.send(
      new CreateNetworkInterfaceCommand({ SubnetId: network.subnets[0] }),
    );
    const NetworkInterfaceId = NetworkInterface?.NetworkInterfaceId ?? "";
    await aws.ec2.send(
      new AttachNetworkInterfaceCommand({ NetworkInterfaceId, InstanceId: id, DeviceIndex: 1 }),
    );
    return NetworkInterfaceId;
  };

  describe("security groups", () => {
    const group = async (): Promise<string> => {
      const made = await aws.ec2.send(
        new CreateSecurityGroupCommand({
          GroupName: `group-${++named}`,
          Description: "x",
          VpcId: network.vpc,
        }),
      );
      return made.GroupId ?? "";
    };
    const allow = (GroupId: string, ...IpPermissions: IpPermission[]) =>
      aws.ec2.send(new AuthorizeSecurityGroupIngressCommand({ GroupId, IpPermissions }));
    const revoke = (GroupId: string, ...IpPermissions: IpPermission[]) =>
      aws.ec2.send(new RevokeSecurityGroupIngressCommand({ GroupId, IpPermissions }));
    const remove = (GroupId: string) =>
      getErrorCode(aws.ec2.send(new DeleteSecurityGroupCommand({ GroupId })));
    const rulesOf = async (GroupId: string) =>
      (await aws.ec2.send(new DescribeSecurityGroupsCommand({ GroupIds: [GroupId] }))).SecurityGroups?.[0]
        ?.IpPermissions;

    test("a subnet's IPv6 network is associated", async () => {
      const { Subnets } = await aws.ec2.send(new DescribeSubnetsCommand({ SubnetIds: [...network.subnets] }));
      const states = Subnets?.map((each) =>
        each.Ipv6CidrBlockAssociationSet?.map(({ Ipv6CidrBlockState: state }) => state?.State),
      );
      expect(states).toEqual([["associated"], ["associated"]]);
    });

    test("on an interface cannot be deleted", async () => {
      const id = await group();
      const { Instances } = await aws.ec2.send(
        new RunInstancesCommand({
          ImageId: IMAGE_ID,
          MinCount: 1,
          MaxCount: 1,
          SubnetId: network.subnets[0],
          SecurityGroupIds: [id],
        }),
      );
      expect(await remove(id)).toBe("DependencyViolation");
      await aws.ec2.send(new TerminateInstancesCommand({ InstanceIds: [Instances?.[0]?.InstanceId ?? ""] }));
      expect(await remove(id)).toBe("succeeded");
    });

    test("on a load balancer cannot be deleted", async () => {
      const id = await group();
      const { LoadBalancers } = await aws.elbv2.send(
        new CreateLoadBalancerCommand({
          Name: `balancer-${++named}`,
          Type: "network",
          Subnets: [...network.subnets],
          SecurityGroups: [id],
        }),
      );
      expect(await remove(id)).toBe("DependencyViolation");
      const { LoadBalancerArn } = LoadBalancers?.[0] ?? {};
      await aws.elbv2.send(new DeleteLoadBalancerCommand({ LoadBalancerArn }));
      expect(await remove(id)).toBe("succeeded");
      const other = await group();
      await aws.elb.send(
        new CreateClassicCommand({
          LoadBalancerName: `balancer-${++named}`,
          Listeners: [{ Protocol: "TCP", LoadBalancerPort: 80, InstancePort: 30_000 }],
          Subnets: [network.subnets[0]],
          SecurityGroups: [other],
        }),
      );
      expect(await remove(other)).toBe("DependencyViolation");
    });

    test("in a rule of another group cannot be deleted, in one of its own can", async () => {
      const [one, other] = [await group(), await group()];
      const permission = { IpProtocol: "-1", UserIdGroupPairs: [{ GroupId: one }] };
      await allow(one, permission);
      await allow(other, permission);
      expect(await remove(one)).toBe("DependencyViolation");
      await revoke(other, permission);
      expect(await remove(one)).toBe("succeeded");
    });

    test("take all rules of a call or none, with any descriptions", async () => {
      const id = await group();
      const rule = (port: number, CidrIp: string, Description?: string): IpPermission => ({
        IpProtocol: "tcp",
        FromPort: port,
        ToPort: port,
        IpRanges: [{ CidrIp, Description }],
      });
      await allow(id, rule(80, "10.0.0.0/8", "one"));
      expect(await getErrorCode(allow(id, rule(81, "10.0.0.0/8"), rule(80, "10.0.0.0/8", "two")))).toBe(
        "InvalidPermission.Duplicate",
      );
      expect(await getErrorCode(revoke(id, rule(80, "10.0.0.0/8"), rule(82, "10.0.0.0/8")))).toBe(
        "InvalidPermission.NotFound",
      );
      expect(await rulesOf(id)).toMatchObject([
        { FromPort: 80, IpRanges: [{ CidrIp: "10.0.0.0/8", Description: "one" }] },
      ]);
      await revoke(id, rule(80, "10.0.0.0/8"));
      expect(await rulesOf(id)).toEqual([]);
      const ipv6: IpPermission = {
        IpProtocol: "icmpv6",
        FromPort: -1,
        ToPort: -1,
        Ipv6Ranges: [{ CidrIpv6: "fd00::/8", Description: "six" }],
      };
      await allow(id, ipv6);
      expect(await getErrorCode(allow(id, ipv6))).toBe("InvalidPermission.Duplicate");
      await revoke(id, ipv6);
      const named: IpPermission = {
        IpProtocol: "tcp",
        FromPort: 1,
        ToPort: 2,
        UserIdGroupPairs: [{ GroupId: network.nodeGroup, Description: "nodes" }],
      };
      await allow(id, named);
      expect(await rulesOf(id)).toMatchObject([
        { UserIdGroupPairs: [{ GroupId: network.nodeGroup, Description: "nodes" }] },
      ]);
      await revoke(id, { ...named, UserIdGroupPairs: [{ GroupId: network.nodeGroup }] });
      expect(await rulesOf(id)).toEqual([]);
    });

    test("include those of an instance that was launched with interfaces", async () => {
      const { Instances } = await aws.ec2.send(
        new RunInstancesCommand({
          ImageId: IMAGE_ID,
          MinCount: 1,
          MaxCount: 1,
          NetworkInterfaces: [{ DeviceIndex: 0, SubnetId: network.subnets[0], Groups: [network.nodeGroup] }],
        }),
      );
      const InstanceIds = [Instances?.[0]?.InstanceId ?? ""];
      const { Reservations } = await aws.ec2.send(new DescribeInstancesCommand({ InstanceIds }));
      expect(Reservations?.[0]?.Instances?.[0]?.SecurityGroups).toMatchObject([
        { GroupId: network.nodeGroup },
      ]);
    });
  });

  describe("routes", () => {
    const route = (difference: Partial<Parameters<typeof command>[0]>) => aws.ec2.send(command(difference));
    const command = (difference: Partial<ConstructorParameters<typeof CreateRouteCommand>[0]>) =>
      new CreateRouteCommand({ RouteTableId: network.routeTable, ...difference });
    const routeTo = async (cidr: string): Promise<Route | undefined> => {
      const { RouteTables } = await aws.ec2.send(
        new DescribeRouteTablesCommand({ RouteTableIds: [network.routeTable] }),
      );
      return RouteTables?.[0]?.Routes?.find(
        ({ DestinationCidrBlock, DestinationIpv6CidrBlock }) =>
          DestinationCidrBlock === cidr || DestinationIpv6CidrBlock === cidr,
      );
    };

    test.each(["10.128.0.0/24", "fd00:10::/64"])(
      "to %s lead to an instance and its interface, and to a blackhole after its end",
      async (cidr) => {
        const [id, next] = [await launchOne(), await launchOne()];
        const eni = (await interfaceOf(id))?.NetworkInterfaceId;
        const destination = cidr.includes(":")
          ? { DestinationIpv6CidrBlock: cidr }
          : { DestinationCidrBlock: cidr };
        await route({ ...destination, InstanceId: id });
        expect(await routeTo(cidr)).toMatchObject({
          InstanceId: id,
          NetworkInterfaceId: eni,
          State: "active",
        });
        expect(await getErrorCode(route({ ...destination, InstanceId: next }))).toBe("RouteAlreadyExists");
        const other = (await interfaceOf(next))?.NetworkInterfaceId;
        expect(await getErrorCode(route({ ...destination, NetworkInterfaceId: other }))).toBe(
          "RouteAlreadyExists",
        );
        await aws.ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
        expect(await routeTo(cidr)).toMatchObject({ State: "blackhole" });
        await aws.ec2.send(
          new ReplaceRouteCommand({
            RouteTableId: network.routeTable,
            ...destination,
            NetworkInterfaceId: other,
          }),
        );
        expect(await routeTo(cidr)).toMatchObject({
          InstanceId: next,
          NetworkInterfaceId: other,
          State: "active",
        });
        await aws.ec2.send(new DeleteRouteCommand({ RouteTableId: network.routeTable, ...destination }));
        expect(await routeTo(cidr)).toBeUndefined();
      },
    );

    test("lead to a blackhole while an instance is stopped", async () => {
      const id = await launchOne();
      await route({ DestinationCidrBlock: "10.128.9.0/24", InstanceId: id });
      await aws.ec2.send(new StopInstancesCommand({ InstanceIds: [id] }));
      expect(await routeTo("10.128.9.0/24")).toMatchObject({ State: "blackhole", InstanceId: id });
      await aws.ec2.send(new StartInstancesCommand({ InstanceIds: [id] }));
      expect(await routeTo("10.128.9.0/24")).toMatchObject({ State: "active", InstanceId: id });
    });

    test("are refused to missing instances and those with several interfaces", async () => {
      const [ended, several] = [await launchOne(), await launchOne()];
      await aws.ec2.send(new TerminateInstancesCommand({ InstanceIds: [ended] }));
      const eni = await secondInterface(several);
      const to = (InstanceId: string) =>
        getErrorCode(route({ DestinationCidrBlock: "10.128.1.0/24", InstanceId }));
      expect(await to(ended)).toBe("InvalidInstanceID.NotFound");
      expect(await to("i-0123456789abcdef0")).toBe("InvalidInstanceID.NotFound");
      expect(await to(several)).toBe("InvalidInstanceID");
      await route({ DestinationCidrBlock: "10.128.1.0/24", NetworkInterfaceId: eni });
      expect(await routeTo("10.128.1.0/24")).toMatchObject({ InstanceId: several, NetworkInterfaceId: eni });
    });

    test("are limited by the quota, of each family", async () => {
      const id = await launchOne();
      const { RouteTables } = await aws.ec2.send(
        new DescribeRouteTablesCommand({ RouteTableIds: [network.routeTable] }),
      );
      const now = (RouteTables?.[0]?.Routes ?? []).filter(
        ({ GatewayId, DestinationCidrBlock }) => GatewayId !== "local" && DestinationCidrBlock !== undefined,
      ).length;
      moto.limitRoutes(now + 1);
      await route({ DestinationCidrBlock: "10.129.0.0/24", InstanceId: id });
      expect(await getErrorCode(route({ DestinationCidrBlock: "10.129.1.0/24", InstanceId: id }))).toBe(
        "RouteLimitExceeded",
      );
      await route({ DestinationIpv6CidrBlock: "fd00:11::/64", InstanceId: id });
      moto.limitRoutes(Number.POSITIVE_INFINITY);
      await route({ DestinationCidrBlock: "10.129.1.0/24", InstanceId: id });
    });
  });

  test("the source/destination check of an instance and of its one interface are the same", async () => {
    const id = await launchOne();
    const checks = async () => {
      const { Reservations } = await aws.ec2.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
      const instance = Reservations?.[0]?.Instances?.[0];
      return [
        instance?.SourceDestCheck,
        instance?.NetworkInterfaces?.[0]?.SourceDestCheck,
        (await interfaceOf(id))?.SourceDestCheck,
      ];
    };
    expect(await checks()).toEqual([true, true, true]);
    const SourceDestCheck = { Value: false };
    await aws.ec2.send(new ModifyInstanceAttributeCommand({ InstanceId: id, SourceDestCheck }));
    expect(await checks()).toEqual([false, false, false]);
    const NetworkInterfaceId = (await interfaceOf(id))?.NetworkInterfaceId;
    await aws.ec2.send(
      new ModifyNetworkInterfaceAttributeCommand({ NetworkInterfaceId, SourceDestCheck: { Value: true } }),
    );
    expect(await checks()).toEqual([true, true, true]);
    await secondInterface(id);
    const modified = aws.ec2.send(new ModifyInstanceAttributeCommand({ InstanceId: id, SourceDestCheck }));
    expect(await getErrorCode(modified)).toBe("InvalidInstanceID");
  });
});
