import { afterAll, beforeAll, expect, test } from "vitest";
import type { AwsActionName, AwsRequests } from "#clouds/aws/load-balancers/actions.ts";
import type { ActionResult } from "#clouds/cloud.ts";
import { createMotoWorld, type MotoWorld } from "#test/clouds/aws/load-balancers/moto-world.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const TAGS = [{ Key: "kubernetes.io/cluster/demo", Value: "owned" }];
const NAME = "a0123456789";
const OPEN = [{ IpProtocol: "tcp", FromPort: 80, ToPort: 80, IpRanges: [{ CidrIp: "10.0.0.0/8" }] }];

describeWithPart("moto", "actions on moto", (program) => {
  let moto: Moto;
  let world: MotoWorld;
  beforeAll(async () => {
    moto = await startMoto(program);
    world = await createMotoWorld(moto.url);
  });
  afterAll(async () => {
    world?.close();
    await moto?.close();
  });

  async function outcome<Name extends AwsActionName>(
    action: Name,
    request: AwsRequests[Name],
  ): Promise<string> {
    const { answer } = await world.act(action, request);
    return answer.kind === "error" ? answer.code : answer.kind;
  }

  async function idOf(
    result: Promise<ActionResult>,
    path: (result: never) => string | undefined,
  ): Promise<string> {
    const { answer } = await result;
    if (answer.kind !== "done") throw new Error(JSON.stringify(answer));
    return path(answer.result as never) ?? "";
  }

  test("makes, changes and deletes a security group; a repeated action finds it present or gone", async () => {
    const request = {
      GroupName: "k8s-elb-a1",
      Description: "of a1",
      VpcId: world.vpc,
      TagSpecifications: [{ ResourceType: "security-group" as const, Tags: TAGS }],
    };
    const made = await world.act("ec2:CreateSecurityGroup", request);
    expect(made.requestId).toMatch(/./);
    expect(JSON.stringify(made)).not.toContain("$metadata");
    const GroupId = await idOf(Promise.resolve(made), ({ GroupId: id }: { GroupId?: string }) => id);
    expect(await outcome("ec2:CreateSecurityGroup", request)).toBe("conflict");
    expect(await outcome("ec2:AuthorizeSecurityGroupIngress", { GroupId, IpPermissions: OPEN })).toBe("done");
    expect(await outcome("ec2:AuthorizeSecurityGroupIngress", { GroupId, IpPermissions: OPEN })).toBe("done");
    expect(await outcome("ec2:CreateTags", { Resources: [GroupId], Tags: TAGS })).toBe("done");
    expect(await outcome("ec2:RevokeSecurityGroupIngress", { GroupId, IpPermissions: OPEN })).toBe("done");
    expect(await outcome("ec2:RevokeSecurityGroupIngress", { GroupId, IpPermissions: OPEN })).toBe("done");
    expect(await outcome("ec2:DeleteSecurityGroup", { GroupId })).toBe("done");
    expect(await outcome("ec2:DeleteSecurityGroup", { GroupId })).toBe("done");
    expect(await outcome("ec2:AuthorizeSecurityGroupIngress", { GroupId, IpPermissions: OPEN })).toBe(
      "conflict",
    );
  });

  test("manages a network load balancer and its parts, whether they exist already or are gone", async () => {
    const group = {
      Name: "k8s-default-web-1",
      Protocol: "TCP" as const,
      Port: 30001,
      VpcId: world.vpc,
      Tags: TAGS,
    };
    const balancer = { Name: NAME, Type: "network" as const, Subnets: [...world.subnets], Tags: TAGS };
    const TargetGroupArn = await idOf(
      world.act("elbv2:CreateTargetGroup", group),
      ({ TargetGroups: [made] }: { TargetGroups: [{ TargetGroupArn?: string }] }) => made.TargetGroupArn,
    );
    const LoadBalancerArn = await idOf(
      world.act("elbv2:CreateLoadBalancer", balancer),
      ({ LoadBalancers: [made] }: { LoadBalancers: [{ LoadBalancerArn?: string }] }) => made.LoadBalancerArn,
    );
    const DefaultActions = [{ Type: "forward" as const, TargetGroupArn }];
    const listener = { LoadBalancerArn, Protocol: "TCP" as const, Port: 80, DefaultActions };
    expect(await outcome("elbv2:CreateTargetGroup", { ...group, Port: 30002 })).toBe("conflict");
    expect(await outcome("elbv2:CreateListener", listener)).toBe("done");
    expect(await outcome("elbv2:DeleteTargetGroup", { TargetGroupArn })).toBe("Unavailable");
    expect(
      await outcome("elbv2:RegisterTargets", {
        TargetGroupArn,
        Targets: [{ Id: await world.addInstance() }],
      }),
    ).toBe("done");
    expect(await outcome("elbv2:CreateTargetGroup", { ...group, Name: "-begins-so" })).toBe("Invalid");
    expect(await outcome("elbv2:DeleteLoadBalancer", { LoadBalancerArn })).toBe("done");
    expect(await outcome("elbv2:DeleteTargetGroup", { TargetGroupArn })).toBe("done");
    expect(await outcome("elbv2:DeleteTargetGroup", { TargetGroupArn })).toBe("done");
    expect(await outcome("elbv2:DeregisterTargets", { TargetGroupArn, Targets: [{ Id: "i-1" }] })).toBe(
      "done",
    );
    expect(await outcome("elbv2:AddTags", { ResourceArns: [LoadBalancerArn], Tags: TAGS })).toBe("conflict");
  });

  test("manages a classic load balancer, whether it exists already or is gone", async () => {
    const Listeners = [
      { Protocol: "TCP", LoadBalancerPort: 80, InstanceProtocol: "TCP", InstancePort: 30001 },
    ];
    const request = { LoadBalancerName: NAME, Listeners, Subnets: [...world.subnets], Tags: TAGS };
    expect(await outcome("elb:CreateLoadBalancer", request)).toBe("done");
    expect(await outcome("elb:CreateLoadBalancer", request)).toBe("conflict");
    const other = [{ ...Listeners[0], InstancePort: 30002 }] as typeof Listeners;
    expect(
      await outcome("elb:CreateLoadBalancerListeners", { LoadBalancerName: NAME, Listeners: other }),
    ).toBe("conflict");
    expect(await outcome("elb:DeleteLoadBalancer", { LoadBalancerName: NAME })).toBe("done");
    expect(await outcome("elb:DeleteLoadBalancer", { LoadBalancerName: NAME })).toBe("done");
    expect(await outcome("elb:AddTags", { LoadBalancerNames: [NAME], Tags: TAGS })).toBe("conflict");
  });

  test("does not send an action of another capability", async () => {
    expect(
      await outcome("ec2:CreateRoute", { RouteTableId: "rtb-1", DestinationCidrBlock: "10.0.0.0/24" }),
    ).toBe("Invalid");
  });
});
