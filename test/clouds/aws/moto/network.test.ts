import { CreateSecurityGroupCommand, TerminateInstancesCommand } from "@aws-sdk/client-ec2";
import {
  CreateListenerCommand,
  type CreateListenerInput,
  CreateLoadBalancerCommand,
  type CreateLoadBalancerInput,
  CreateTargetGroupCommand,
  type CreateTargetGroupInput,
  DeleteListenerCommand,
  DeleteLoadBalancerCommand,
  DeleteTargetGroupCommand,
  DeregisterTargetsCommand,
  DescribeListenersCommand,
  DescribeLoadBalancerAttributesCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  DescribeTargetGroupAttributesCommand,
  DescribeTargetGroupsCommand,
  DescribeTargetHealthCommand,
  ModifyListenerCommand,
  ModifyTargetGroupAttributesCommand,
  RegisterTargetsCommand,
  SetSecurityGroupsCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectViolations } from "#test/aws-models/aws-calls.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { type Clients, createClients, getErrorCode } from "./clients.ts";
import { makeNetwork, type Network } from "./make-network.ts";
import { type MendedMoto, startMendedMoto } from "./start-mended-moto.ts";

const CERTIFICATE = "arn:aws:iam::123456789012:server-certificate/one";

describeWithPart("moto", "network load balancers on mended moto", (program) => {
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

  const fresh = (): string => `name-${++named}`;
  const load = async (difference: Partial<CreateLoadBalancerInput> = {}) => {
    const made = await aws.elbv2.send(
      new CreateLoadBalancerCommand({
        Name: fresh(),
        Type: "network",
        Subnets: [...network.subnets],
        ...difference,
      }),
    );
    return there(made.LoadBalancers?.[0]);
  };
  const group = async (difference: Partial<CreateTargetGroupInput> = {}) => {
    const made = await aws.elbv2.send(
      new CreateTargetGroupCommand({
        Name: fresh(),
        Protocol: "TCP",
        Port: 30_000,
        VpcId: network.vpc,
        ...difference,
      }),
    );
    return there(made.TargetGroups?.[0]);
  };
  const listen = async (difference: Partial<CreateListenerInput> = {}) => {
    const made = await aws.elbv2.send(
      new CreateListenerCommand({
        LoadBalancerArn: undefined,
        Protocol: "TCP",
        Port: 80,
        DefaultActions: [],
        ...difference,
      }),
    );
    return there(made.Listeners?.[0]);
  };
  const forward = (arn: string | undefined) => [{ Type: "forward" as const, TargetGroupArn: there(arn) }];

  describe("load balancers", () => {
    test("have a host name with the region after elb, and are internet-facing by default", async () => {
      const made = await load();
      expect(made.DNSName).toMatch(/^name-\d+-[0-9a-f]{16}\.elb\.eu-central-1\.amazonaws\.com$/);
      expect(made.Scheme).toBe("internet-facing");
      const { LoadBalancers } = await aws.elbv2.send(
        new DescribeLoadBalancersCommand({ Names: [there(made.LoadBalancerName)] }),
      );
      expect(LoadBalancers?.[0]).toMatchObject({ DNSName: made.DNSName, Scheme: "internet-facing" });
    });

    test("made again with the same name and settings are the same one, with other settings a fault", async () => {
      const Name = fresh();
      const one = await load({ Name });
      expect((await load({ Name })).LoadBalancerArn).toBe(one.LoadBalancerArn);
      expect(await getErrorCode(load({ Name, Scheme: "internal" }))).toBe("DuplicateLoadBalancerName");
      expect(await getErrorCode(load({ Name, Subnets: [network.subnets[0]] }))).toBe(
        "DuplicateLoadBalancerName",
      );
    });

    test("fail the describe of all if one is unknown", async () => {
      const Names = [there((await load()).LoadBalancerName), "unknown"];
      expect(await getErrorCode(aws.elbv2.send(new DescribeLoadBalancersCommand({ Names })))).toBe(
        "LoadBalancerNotFound",
      );
    });

    test("have default attributes", async () => {
      const { LoadBalancerArn } = await load();
      const { Attributes = [] } = await aws.elbv2.send(
        new DescribeLoadBalancerAttributesCommand({ LoadBalancerArn }),
      );
      expect(pairs(Attributes)).toMatchObject({
        "access_logs.s3.enabled": "false",
        "load_balancing.cross_zone.enabled": "false",
      });
    });

    test("take no security groups later, and no unknown ones", async () => {
      const { GroupId } = await aws.ec2.send(
        new CreateSecurityGroupCommand({ GroupName: fresh(), Description: "x", VpcId: network.vpc }),
      );
      const without = await load();
      const SecurityGroups = [there(GroupId)];
      const set = (LoadBalancerArn: string | undefined) =>
        aws.elbv2.send(new SetSecurityGroupsCommand({ LoadBalancerArn, SecurityGroups }));
      expect(await getErrorCode(set(without.LoadBalancerArn))).toBe("InvalidConfigurationRequest");
      const having = await load({ SecurityGroups: [network.nodeGroup] });
      expect((await set(having.LoadBalancerArn)).SecurityGroupIds).toEqual(SecurityGroups);
      expect(await getErrorCode(load({ SecurityGroups: ["sg-0123456789abcdef0"] }))).toBe(
        "InvalidSecurityGroup",
      );
    });

    test("come in pages of the requested and allowed size", async () => {
      await Promise.all([load(), load(), load()]);
      moto.limitPages(2);
      const first = await aws.elbv2.send(new DescribeLoadBalancersCommand({}));
      expect(first.LoadBalancers).toHaveLength(2);
      const second = await aws.elbv2.send(new DescribeLoadBalancersCommand({ Marker: first.NextMarker }));
      expect(second.LoadBalancers?.length).toBeGreaterThan(0);
      moto.limitPages(400);
      const all = await aws.elbv2.send(new DescribeLoadBalancersCommand({}));
      expect(all.NextMarker).toBeUndefined();
      expect(all.LoadBalancers?.[2]).toEqual(second.LoadBalancers?.[0]);
      expectViolations("elbv2:DescribeLoadBalancers request PageSize range");
      expect(await getErrorCode(aws.elbv2.send(new DescribeLoadBalancersCommand({ PageSize: 401 })))).toBe(
        "ValidationError",
      );
    });

    test("return their tags for twenty at a time, and no tags if one is unknown", async () => {
      const { LoadBalancerArn = "" } = await load({ Tags: [{ Key: "one", Value: "two" }] });
      const tagsOf = (ResourceArns: string[]) => aws.elbv2.send(new DescribeTagsCommand({ ResourceArns }));
      expect((await tagsOf([LoadBalancerArn])).TagDescriptions?.[0]?.Tags).toEqual([
        { Key: "one", Value: "two" },
      ]);
      expect(await getErrorCode(tagsOf(Array.from({ length: 21 }, () => LoadBalancerArn)))).toBe(
        "ValidationError",
      );
      expect(await getErrorCode(tagsOf([LoadBalancerArn, `${LoadBalancerArn}0`]))).toBe(
        "LoadBalancerNotFound",
      );
    });
  });

  describe("target groups", () => {
    test("made again with the same name and settings are the same one, with other settings a fault", async () => {
      const Name = fresh();
      const one = await group({ Name });
      expect((await group({ Name })).TargetGroupArn).toBe(one.TargetGroupArn);
      expect(await getErrorCode(group({ Name, Port: 30_001 }))).toBe("DuplicateTargetGroupName");
      expect(await getErrorCode(group({ Name, HealthCheckIntervalSeconds: 10 }))).toBe(
        "DuplicateTargetGroupName",
      );
    });

    test("with an HTTP check have the defaults of the check", async () => {
      expect(await group({ HealthCheckProtocol: "HTTP", HealthCheckIntervalSeconds: 10 })).toMatchObject({
        HealthCheckPath: "/",
        HealthCheckTimeoutSeconds: 6,
        Matcher: { HttpCode: "200-399" },
      });
    });

    test("have the attributes of their protocol", async () => {
      const attributesOf = async (TargetGroupArn: string | undefined) =>
        pairs(
          (await aws.elbv2.send(new DescribeTargetGroupAttributesCommand({ TargetGroupArn }))).Attributes,
        );
      const one = await group();
      const attributes = await attributesOf(one.TargetGroupArn);
      expect(attributes).toMatchObject({
        "preserve_client_ip.enabled": "true",
        "proxy_protocol_v2.enabled": "false",
        "deregistration_delay.connection_termination.enabled": "false",
      });
      expect(attributes).not.toHaveProperty("slow_start.duration_seconds");
      const Attributes = [{ Key: "preserve_client_ip.enabled", Value: "false" }];
      await aws.elbv2.send(
        new ModifyTargetGroupAttributesCommand({ TargetGroupArn: one.TargetGroupArn, Attributes }),
      );
      expect(await attributesOf(one.TargetGroupArn)).toMatchObject({ "preserve_client_ip.enabled": "false" });
      const udp = await group({ Protocol: "UDP" });
      const modified = aws.elbv2.send(
        new ModifyTargetGroupAttributesCommand({ TargetGroupArn: udp.TargetGroupArn, Attributes }),
      );
      expect(await getErrorCode(modified)).toBe("InvalidConfigurationRequest");
    });

    test("are those to which the load balancer's listeners forward now", async () => {
      const { LoadBalancerArn } = await load();
      const groupsOf = async () =>
        (await aws.elbv2.send(new DescribeTargetGroupsCommand({ LoadBalancerArn }))).TargetGroups?.map(
          ({ TargetGroupName }) => TargetGroupName,
        );
      expect(await groupsOf()).toEqual([]);
      const [one, other] = [await group(), await group()];
      const { ListenerArn } = await listen({
        LoadBalancerArn,
        DefaultActions: forward(one.TargetGroupArn),
      });
      expect(await groupsOf()).toEqual([one.TargetGroupName]);
      await aws.elbv2.send(
        new ModifyListenerCommand({ ListenerArn, DefaultActions: forward(other.TargetGroupArn) }),
      );
      expect(await groupsOf()).toEqual([other.TargetGroupName]);
      const TargetGroupArns = [there(one.TargetGroupArn), there(other.TargetGroupArn)];
      const { TargetGroups = [] } = await aws.elbv2.send(
        new DescribeTargetGroupsCommand({ TargetGroupArns }),
      );
      const arns = new Map(
        TargetGroups.map(({ TargetGroupName, LoadBalancerArns }) => [TargetGroupName, LoadBalancerArns]),
      );
      expect(arns.get(one.TargetGroupName)).toEqual([]);
      expect(arns.get(other.TargetGroupName)).toEqual([LoadBalancerArn]);
      const deleted = aws.elbv2.send(new DeleteTargetGroupCommand({ TargetGroupArn: other.TargetGroupArn }));
      expect(await getErrorCode(deleted)).toBe("ResourceInUse");
      await aws.elbv2.send(new DeleteLoadBalancerCommand({ LoadBalancerArn }));
      await aws.elbv2.send(new DeleteTargetGroupCommand({ TargetGroupArn: other.TargetGroupArn }));
    });

    test("take running instances, or no target of a call; deregistering an unregistered one is no fault", async () => {
      const { TargetGroupArn } = await group();
      const [one = "", ended = ""] = await network.launch(2);
      await aws.ec2.send(new TerminateInstancesCommand({ InstanceIds: [ended] }));
      const register = (...ids: string[]) =>
        aws.elbv2.send(new RegisterTargetsCommand({ TargetGroupArn, Targets: ids.map((Id) => ({ Id })) }));
      const registered = async () =>
        (
          await aws.elbv2.send(new DescribeTargetHealthCommand({ TargetGroupArn }))
        ).TargetHealthDescriptions?.map(({ Target }) => Target);
      for (const bad of [ended, "i-0123456789abcdef0"])
        expect(await getErrorCode(register(one, bad))).toBe("InvalidTarget");
      expect(await registered()).toEqual([]);
      await register(one);
      expect(await registered()).toEqual([{ Id: one, Port: 30_000 }]);
      const Targets = [{ Id: "i-0123456789abcdef0" }, { Id: one }];
      await aws.elbv2.send(new DeregisterTargetsCommand({ TargetGroupArn, Targets }));
      await aws.elbv2.send(new DeregisterTargetsCommand({ TargetGroupArn, Targets }));
      expect(await registered()).toEqual([]);
    });
  });

  describe("listeners", () => {
    test("made again are the same one, and another on the port is a fault", async () => {
      const { LoadBalancerArn } = await load();
      const DefaultActions = forward((await group()).TargetGroupArn);
      const one = await listen({ LoadBalancerArn, DefaultActions });
      expect((await listen({ LoadBalancerArn, DefaultActions })).ListenerArn).toBe(one.ListenerArn);
      const other = forward((await group()).TargetGroupArn);
      expect(await getErrorCode(listen({ LoadBalancerArn, DefaultActions: other }))).toBe(
        "DuplicateListener",
      );
    });

    test("of TCP have no SSL policy, and reject one", async () => {
      const { LoadBalancerArn } = await load();
      const DefaultActions = forward((await group()).TargetGroupArn);
      const SslPolicy = "ELBSecurityPolicy-2016-08";
      expect(await getErrorCode(listen({ LoadBalancerArn, DefaultActions, SslPolicy }))).toBe(
        "ValidationError",
      );
      const one = await listen({ LoadBalancerArn, DefaultActions });
      expect(one.SslPolicy).toBeUndefined();
      const { ListenerArn } = one;
      expect(await getErrorCode(aws.elbv2.send(new ModifyListenerCommand({ ListenerArn, SslPolicy })))).toBe(
        "ValidationError",
      );
    });

    test.each([
      { to: "TLS", of: "TCP" },
      { to: "UDP", of: "UDP" },
      { to: "TCP_UDP", of: "TCP_UDP" },
    ] as const)("become $to, and stay so", async ({ to, of }) => {
      const { LoadBalancerArn } = await load();
      const { ListenerArn } = await listen({
        LoadBalancerArn,
        DefaultActions: forward((await group()).TargetGroupArn),
      });
      const DefaultActions = forward((await group({ Protocol: of })).TargetGroupArn);
      const Certificates = to === "TLS" ? [{ CertificateArn: CERTIFICATE }] : undefined;
      const modified = await aws.elbv2.send(
        new ModifyListenerCommand({ ListenerArn, Protocol: to, DefaultActions, Certificates }),
      );
      const expected =
        to === "TLS"
          ? { Protocol: to, SslPolicy: "ELBSecurityPolicy-2016-08", Certificates }
          : { Protocol: to };
      expect(modified.Listeners?.[0]).toMatchObject(expected);
      const { Listeners } = await aws.elbv2.send(new DescribeListenersCommand({ LoadBalancerArn }));
      expect(Listeners).toMatchObject([expected]);
      if (to === "TLS") {
        const back = new ModifyListenerCommand({ ListenerArn, Protocol: "TCP" });
        const [tcp] = (await aws.elbv2.send(back)).Listeners ?? [];
        expect(tcp).toMatchObject({ Protocol: "TCP" });
        expect(tcp?.SslPolicy).toBeUndefined();
      }
    });

    test("forward to groups of a fitting protocol that no other load balancer has", async () => {
      const [{ LoadBalancerArn }, other] = [await load(), await load()];
      const udp = forward((await group({ Protocol: "UDP" })).TargetGroupArn);
      expect(await getErrorCode(listen({ LoadBalancerArn, DefaultActions: udp }))).toBe(
        "IncompatibleProtocols",
      );
      const DefaultActions = forward((await group()).TargetGroupArn);
      await listen({ LoadBalancerArn: other.LoadBalancerArn, DefaultActions });
      expect(await getErrorCode(listen({ LoadBalancerArn, DefaultActions }))).toBe(
        "TargetGroupAssociationLimit",
      );
    });

    test("fail the describe of all if one is unknown", async () => {
      const { LoadBalancerArn } = await load();
      const { ListenerArn = "" } = await listen({
        LoadBalancerArn,
        DefaultActions: forward((await group()).TargetGroupArn),
      });
      const find = (ListenerArns: string[]) =>
        getErrorCode(aws.elbv2.send(new DescribeListenersCommand({ ListenerArns })));
      expect(await find([ListenerArn])).toBe("succeeded");
      expect(await find([ListenerArn, `${ListenerArn}0`])).toBe("ListenerNotFound");
      await aws.elbv2.send(new DeleteListenerCommand({ ListenerArn }));
      expect(await find([ListenerArn])).toBe("ListenerNotFound");
    });
  });
});

function pairs(
  attributes: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] = [],
) {
  return Object.fromEntries(attributes.map(({ Key, Value }) => [Key, Value]));
}

function there<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("the answer lacks what AWS's always has");
  return value;
}
