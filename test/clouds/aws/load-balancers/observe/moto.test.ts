import {
  AllocateAddressCommand,
  AssociateAddressCommand,
  DeleteTagsCommand,
  RunInstancesCommand,
} from "@aws-sdk/client-ec2";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { loadBalancerNameOf } from "#clouds/aws/load-balancers/load-balancer-name.ts";
import type { SharedRulesState } from "#clouds/aws/load-balancers/orphans/shared-rules.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { rulesOf } from "#clouds/aws/load-balancers/vpc/rules.ts";
import { aQuestion, type MotoWorld, motoWorld } from "#test/clouds/aws/load-balancers/moto-world.ts";
import { IMAGE_ID } from "#test/clouds/aws/moto/make-network.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const TAGS = [
  { Key: "kubernetes.io/cluster/demo", Value: "owned" },
  { Key: "kubernetes.io/service-name", Value: "default/web" },
];
const UID = "11111111-2222-3333-4444-555555555555";
const NAME = loadBalancerNameOf(UID) ?? "";

describeWithPart("moto", "load balancers on moto", (program) => {
  let moto: Moto;
  let world: MotoWorld;
  beforeAll(async () => {
    moto = await startMoto(program);
  });
  beforeEach(async () => {
    await moto.reset();
    world = await motoWorld(moto.url);
    return () => world.close();
  });
  afterAll(() => moto.close());

  /** A network load balancer as a Service of the name has it, with a target group of each port. */
  async function aNetworkLoadBalancer(instance: string): Promise<{ arn: string; group: string }> {
    const made = await world.act("elbv2:CreateLoadBalancer", {
      Name: NAME,
      Type: "network",
      Subnets: [...world.subnets],
      Tags: TAGS,
    });
    const {
      LoadBalancers: [lb],
    } = resultOf<{ LoadBalancers: [{ LoadBalancerArn: string }] }>(made);
    const tg = await world.act("elbv2:CreateTargetGroup", {
      Name: "k8s-default-web-0123456789",
      Protocol: "TCP",
      Port: 30001,
      VpcId: world.vpc,
      TargetType: "instance",
      Tags: TAGS,
    });
    const {
      TargetGroups: [target],
    } = resultOf<{ TargetGroups: [{ TargetGroupArn: string }] }>(tg);
    await world.act("elbv2:CreateListener", {
      LoadBalancerArn: lb.LoadBalancerArn,
      Protocol: "TCP",
      Port: 80,
      DefaultActions: [{ Type: "forward", TargetGroupArn: target.TargetGroupArn }],
      Tags: TAGS,
    });
    await world.act("elbv2:RegisterTargets", {
      TargetGroupArn: target.TargetGroupArn,
      Targets: [{ Id: instance }],
    });
    return { arn: lb.LoadBalancerArn, group: target.TargetGroupArn };
  }

  test("where there is nothing: no load balancer, and the VPC as it is", async () => {
    const id = await world.addInstance();
    const state = await world.state(aQuestion(UID, { instances: [id, "i-00000000000000bad"] }));
    expect(state).toMatchObject({ targetGroups: [], vpc: { id: world.vpc } });
    expect(state).not.toHaveProperty("network");
    expect(state).not.toHaveProperty("classic");
    expect(state.vpc.instances).toEqual({
      [id]: {
        state: "running",
        subnetId: world.subnets[0],
        zone: "eu-central-1a",
        groupIds: [world.group],
      },
    });
    expect(state.vpc.subnets.map(({ isPublic, zoneType }) => [isPublic, zoneType])).toEqual([
      [true, "availability-zone"],
      [true, "availability-zone"],
    ]);
    expect(state.vpc.groups.map(({ group }) => group.GroupName).toSorted()).toEqual(["default", "nodes"]);
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
  });

  test("a network load balancer with all that belongs to it", async () => {
    const id = await world.addInstance();
    const { arn, group } = await aNetworkLoadBalancer(id);
    const state = await world.state(aQuestion(UID, { instances: [id] }));
    expect(state.network).toMatchObject({
      loadBalancer: { LoadBalancerArn: arn, Type: "network" },
      tags: { "kubernetes.io/service-name": "default/web" },
      attributes: { "deletion_protection.enabled": "false" },
      listeners: [
        { listener: { Port: 80, Protocol: "TCP" }, tags: { "kubernetes.io/cluster/demo": "owned" } },
      ],
    });
    expect(state.targetGroups).toMatchObject([
      {
        group: { TargetGroupArn: group },
        tags: { "kubernetes.io/service-name": "default/web" },
        targets: [{ Id: id, Port: 30001 }],
      },
    ]);
    expect(state.targetGroups[0]?.attributes).toHaveProperty("deregistration_delay.timeout_seconds");
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
  });

  test("a target group that no load balancer uses is found by its tags; one of another Service is not", async () => {
    const groupOf = (name: string, service: string) =>
      world.act("elbv2:CreateTargetGroup", {
        Name: name,
        Protocol: "TCP",
        Port: 30001,
        VpcId: world.vpc,
        Tags: [TAGS[0], { Key: "kubernetes.io/service-name", Value: service }].filter(
          (tag) => tag !== undefined,
        ),
      });
    await groupOf("k8s-default-web-0000000001", "default/web");
    await groupOf("k8s-default-web-0000000002", "default/we-b");
    await groupOf("k8s-default-web-0000000003", "other/web");
    const state = await world.state(aQuestion(UID, { wanted: false }));
    expect(state.targetGroups.map(({ group }) => group.TargetGroupName)).toEqual([
      "k8s-default-web-0000000001",
    ]);
  });

  test("a classic load balancer with its policies", async () => {
    await world.act("elb:CreateLoadBalancer", {
      LoadBalancerName: NAME,
      Listeners: [{ Protocol: "TCP", LoadBalancerPort: 80, InstanceProtocol: "TCP", InstancePort: 30001 }],
      Subnets: [...world.subnets],
      SecurityGroups: [world.group],
      Tags: TAGS,
    });
    await world.act("elb:CreateLoadBalancerPolicy", {
      LoadBalancerName: NAME,
      PolicyName: "k8s-proxyprotocol-enabled",
      PolicyTypeName: "ProxyProtocolPolicyType",
      PolicyAttributes: [{ AttributeName: "ProxyProtocol", AttributeValue: "true" }],
    });
    const state = await world.state(aQuestion(UID));
    expect(state.classic).toMatchObject({
      loadBalancer: { LoadBalancerName: NAME, SecurityGroups: [world.group] },
      tags: { "kubernetes.io/service-name": "default/web" },
      attributes: { CrossZoneLoadBalancing: { Enabled: false } },
      policies: [{ PolicyName: "k8s-proxyprotocol-enabled" }],
    });
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
  });

  test("what is to go takes no call of its own", async () => {
    await aNetworkLoadBalancer(await world.addInstance());
    const { answers, usage } = await world.observe(aQuestion(UID, { wanted: false }));
    expect(answers).toMatchObject([
      { state: { network: { tags: {} }, targetGroups: [{ tags: {}, targets: [] }] } },
    ]);
    expect(Object.keys(usage.calls).toSorted()).toEqual([
      "DescribeSecurityGroups",
      "elb:DescribeLoadBalancers",
      "elbv2:DescribeLoadBalancers",
      "elbv2:DescribeTags",
      "elbv2:DescribeTargetGroups",
    ]);
  });

  test("what is to go needs neither subnets nor instances", async () => {
    const id = await world.addInstance();
    await aNetworkLoadBalancer(id);
    const { answers, usage } = await world.observe(aQuestion(UID, { wanted: false, instances: [id] }));
    expect(answers).toMatchObject([
      { kind: "observed", state: { network: {}, vpc: { subnets: [], instances: {} } } },
    ]);
    for (const call of [
      "DescribeInstances",
      "DescribeSubnets",
      "DescribeRouteTables",
      "DescribeAvailabilityZones",
    ])
      expect(usage.calls).not.toHaveProperty(call);
  });

  test("a rule that load balancers share is described anew in place, and an audit shows who uses it", async () => {
    const id = await world.addInstance();
    await aNetworkLoadBalancer(id);
    const rule = (Description: string) => ({
      GroupId: world.group,
      IpPermissions: [
        {
          IpProtocol: "tcp",
          FromPort: 30001,
          ToPort: 30001,
          IpRanges: [{ CidrIp: "10.9.0.0/20", Description }],
        },
      ],
    });
    await world.act("ec2:AuthorizeSecurityGroupIngress", rule("serverless-ccm.io/rule/nlb/health"));
    const since = "serverless-ccm.io/rule/nlb/health unused since 2026-03-01T12:00:00.000Z";
    const described = await world.act("ec2:UpdateSecurityGroupRuleDescriptionsIngress", rule(since));
    expect(described.answer.kind).toBe("done");
    const { answers } = await world.observe({ holdings: true, auditAt: "2026-03-01T12:00:00Z" });
    const [answer] = answers;
    const { shared } = (answer?.kind === "observed" ? answer.state : {}) as { shared: SharedRulesState };
    const nodes = shared.groups.find(({ group }) => group.GroupId === world.group);
    expect(rulesOf(nodes?.ingress ?? [])).toMatchObject([{ ports: [30001, 30001], description: since }]);
    expect(shared.checkedPorts).toEqual([{ port: 30001, users: [expect.stringContaining("loadbalancer")] }]);
  });

  test("Elastic IP addresses that a Service names are looked at, and nobody else's; one that is not there is left out", async () => {
    const allocate = async (Value: string): Promise<string> => {
      const { AllocationId = "" } = await world.ec2.send(
        new AllocateAddressCommand({
          Domain: "vpc",
          TagSpecifications: [{ ResourceType: "elastic-ip", Tags: [{ Key: "team", Value }] }],
        }),
      );
      return AllocationId;
    };
    const [free, used, other] = [await allocate("edge"), await allocate("web"), await allocate("none")];
    const instance = await world.addInstance();
    await world.ec2.send(new AssociateAddressCommand({ AllocationId: used, InstanceId: instance }));
    const names = (...ids: readonly string[]) => {
      const key = "service.beta.kubernetes.io/aws-load-balancer-eip-allocations";
      const { service, ...rest } = aQuestion(UID);
      const metadata = { ...service.metadata, annotations: { [key]: ids.join(", ") } };
      return { ...rest, service: { metadata } };
    };
    const asked = [
      names(free, used, "eipalloc-0123456789abcdef0"),
      names(other),
      aQuestion(UID),
      names("no id"),
    ];
    const { answers, usage } = await world.observe(...asked);
    const seen = answers.map(
      (answer) => (answer.kind === "observed" ? answer.state : {}) as AwsLoadBalancerState,
    );
    expect(seen.map(({ addresses }) => addresses)).toEqual([
      {
        [free]: { tags: { team: "edge" }, isInUse: false },
        [used]: { tags: { team: "web" }, isInUse: true },
      },
      { [other]: { tags: { team: "none" }, isInUse: false } },
      undefined,
      undefined,
    ]);
    expect(usage.calls).toMatchObject({ DescribeAddresses: 1 });
    const without = await world.observe(aQuestion(UID));
    expect(without.usage.calls).not.toHaveProperty("DescribeAddresses");
  });

  test("where only targets may differ, a load balancer takes no call of its own and a target group one", async () => {
    const id = await world.addInstance();
    await aNetworkLoadBalancer(id);
    const whole = await world.observe(aQuestion(UID, { instances: [id] }));
    const { answers, usage } = await world.observe({
      ...aQuestion(UID, { instances: [id] }),
      onlyTargets: true,
    });
    const ofOneMore = Object.entries(whole.usage.calls).filter(([call]) => !(call in usage.calls));
    expect(ofOneMore.map(([call]) => call).toSorted()).toEqual([
      "DescribeAvailabilityZones",
      "elbv2:DescribeListeners",
      "elbv2:DescribeLoadBalancerAttributes",
      "elbv2:DescribeTargetGroupAttributes",
    ]);
    expect(usage.calls).toMatchObject({ "elbv2:DescribeTags": 1, "elbv2:DescribeTargetHealth": 1 });
    expect(answers).toMatchObject([{ state: { targetGroups: [{ targets: [{ Id: id }] }] } }]);
    expect(JSON.stringify(answers)).not.toContain('"attributes"');
  });

  test("many Services share what they have in common", async () => {
    const id = await world.addInstance();
    const questions = Array.from({ length: 60 }, (_, number) =>
      aQuestion(`00000000-0000-0000-0000-${String(number).padStart(12, "0")}`, { instances: [id] }),
    );
    const { answers, usage } = await world.observe(...questions);
    expect(answers.filter(({ kind }) => kind === "observed")).toHaveLength(60);
    expect(usage.calls).toEqual({
      DescribeInstances: 1,
      DescribeSubnets: 1,
      DescribeRouteTables: 1,
      DescribeSecurityGroups: 1,
      DescribeAvailabilityZones: 1,
      "elb:DescribeLoadBalancers": 1,
      "elbv2:DescribeLoadBalancers": 1,
      "elbv2:DescribeTargetGroups": 1,
    });
  });

  test("of a security group without a tag AWS shows whether only the cluster's instances have it", async () => {
    const instances = [await world.addInstance()];
    await world.ec2.send(new DeleteTagsCommand({ Resources: [world.group], Tags: TAGS.slice(0, 1) }));
    const marked = async (): Promise<boolean | undefined> => {
      // Each asks anew: what one has seen it believes for a while.
      const other = await motoWorld(moto.url, true, { vpc: world.vpc });
      const { vpc } = await other.state(aQuestion(UID, { instances }));
      other.close();
      return vpc.groups.find(({ group }) => group.GroupId === world.group)?.isOnNodesAlone;
    };
    expect(await marked()).toBe(true);
    await world.ec2.send(
      new RunInstancesCommand({
        ...{ ImageId: IMAGE_ID, MinCount: 1, MaxCount: 1 },
        ...{ SubnetId: world.subnets[0], SecurityGroupIds: [world.group] },
      }),
    );
    expect(await marked()).toBeUndefined();
  });

  test("without a configured VPC it is that of the targets, or of the load balancer", async () => {
    const bare = await motoWorld(moto.url, false);
    const id = await bare.addInstance();
    expect((await bare.state(aQuestion(UID, { instances: [id] }))).vpc.id).toBe(bare.vpc);
    const request = { Name: NAME, Type: "network" as const, Subnets: [...bare.subnets], Tags: TAGS };
    await bare.act("elbv2:CreateLoadBalancer", request);
    const state = await bare.state(aQuestion(UID, { wanted: false }));
    expect(state.vpc.id).toBe(bare.vpc);
    expect(state.vpc.groups.map(({ group }) => group.GroupName)).toContain("nodes");
    bare.close();
  });
});

function resultOf<Result>({ answer }: { readonly answer: { readonly kind: string } }): Result {
  if (!("result" in answer)) throw new Error(JSON.stringify(answer));
  return answer.result as Result;
}
