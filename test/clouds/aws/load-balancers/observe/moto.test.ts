import {
  AllocateAddressCommand,
  AssociateAddressCommand,
  DeleteTagsCommand,
  RunInstancesCommand,
} from "@aws-sdk/client-ec2";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { formatLoadBalancerName } from "#clouds/aws/load-balancers/names.ts";
import type { SharedRulesState } from "#clouds/aws/load-balancers/orphans/unused-rules.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";
import {
  buildQuestion,
  createMotoWorld,
  type MotoWorld,
} from "#test/clouds/aws/load-balancers/moto-world.ts";
import { IMAGE_ID } from "#test/clouds/aws/moto/make-network.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const TAGS = [
  { Key: "kubernetes.io/cluster/demo", Value: "owned" },
  { Key: "kubernetes.io/service-name", Value: "default/web" },
];
const UID = "11111111-2222-3333-4444-555555555555";
const NAME = formatLoadBalancerName(UID) ?? "";

describeWithPart("moto", "load balancers on moto", (program) => {
  let moto: Moto;
  let world: MotoWorld;
  beforeAll(async () => {
    moto = await startMoto(program);
  });
  beforeEach(async () => {
    await moto.reset();
    world = await createMotoWorld(moto.url);
    return () => world.close();
  });
  afterAll(() => moto.close());

  /** Makes a network load balancer for a Service of the name, with a target group for each port. */
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

  test("in an empty account: no load balancer, and the VPC as it is", async () => {
    const id = await world.addInstance();
    const state = await world.state(buildQuestion(UID, { instances: [id, "i-00000000000000bad"] }));
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

  test("a network load balancer with all its parts", async () => {
    const id = await world.addInstance();
    const { arn, group } = await aNetworkLoadBalancer(id);
    const state = await world.state(buildQuestion(UID, { instances: [id] }));
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

  test("an unused target group is found by its tags; one of another Service is not", async () => {
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
    const state = await world.state(buildQuestion(UID, { wanted: false }));
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
    const state = await world.state(buildQuestion(UID));
    expect(state.classic).toMatchObject({
      loadBalancer: { LoadBalancerName: NAME, SecurityGroups: [world.group] },
      tags: { "kubernetes.io/service-name": "default/web" },
      attributes: { CrossZoneLoadBalancing: { Enabled: false } },
      policies: [{ PolicyName: "k8s-proxyprotocol-enabled" }],
    });
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
  });

  test("a load balancer to delete takes no additional call", async () => {
    await aNetworkLoadBalancer(await world.addInstance());
    const { answers, usage } = await world.observe(buildQuestion(UID, { wanted: false }));
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

  test("a deletion needs neither subnets nor instances", async () => {
    const id = await world.addInstance();
    await aNetworkLoadBalancer(id);
    const { answers, usage } = await world.observe(buildQuestion(UID, { wanted: false, instances: [id] }));
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

  test("the description of a shared rule is updated in place, and an audit shows who uses it", async () => {
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
    expect(parsePermissions(nodes?.ingress ?? [])).toMatchObject([
      { ports: [30001, 30001], description: since },
    ]);
    expect(shared.checkedPorts).toEqual([{ port: 30001, users: [expect.stringContaining("loadbalancer")] }]);
  });

  test("reads the Elastic IP addresses that a Service names, and no others; a missing one is left out", async () => {
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
      const { service, ...rest } = buildQuestion(UID);
      const metadata = { ...service.metadata, annotations: { [key]: ids.join(", ") } };
      return { ...rest, service: { metadata } };
    };
    const asked = [
      names(free, used, "eipalloc-0123456789abcdef0"),
      names(other),
      buildQuestion(UID),
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
    const without = await world.observe(buildQuestion(UID));
    expect(without.usage.calls).not.toHaveProperty("DescribeAddresses");
  });

  test("if only targets may differ, a load balancer takes no call of its own and a target group one", async () => {
    const id = await world.addInstance();
    await aNetworkLoadBalancer(id);
    const whole = await world.observe(buildQuestion(UID, { instances: [id] }));
    const { answers, usage } = await world.observe({
      ...buildQuestion(UID, { instances: [id] }),
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

  test("many Services share the common reads", async () => {
    const id = await world.addInstance();
    const questions = Array.from({ length: 60 }, (_, number) =>
      buildQuestion(`00000000-0000-0000-0000-${String(number).padStart(12, "0")}`, { instances: [id] }),
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

  test("AWS shows whether only the cluster's instances use a security group without a tag", async () => {
    const instances = [await world.addInstance()];
    await world.ec2.send(new DeleteTagsCommand({ Resources: [world.group], Tags: TAGS.slice(0, 1) }));
    const marked = async (): Promise<boolean | undefined> => {
      // Each cluster has its own cloud, because a cloud caches its observation for a while.
      const other = await createMotoWorld(moto.url, true, { vpc: world.vpc });
      const { vpc } = await other.state(buildQuestion(UID, { instances }));
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

  test("without a configured VPC the VPC comes from the targets, or from the load balancer", async () => {
    const bare = await createMotoWorld(moto.url, false);
    const id = await bare.addInstance();
    expect((await bare.state(buildQuestion(UID, { instances: [id] }))).vpc.id).toBe(bare.vpc);
    const request = { Name: NAME, Type: "network" as const, Subnets: [...bare.subnets], Tags: TAGS };
    await bare.act("elbv2:CreateLoadBalancer", request);
    const state = await bare.state(buildQuestion(UID, { wanted: false }));
    expect(state.vpc.id).toBe(bare.vpc);
    expect(state.vpc.groups.map(({ group }) => group.GroupName)).toContain("nodes");
    bare.close();
  });
});

function resultOf<Result>({ answer }: { readonly answer: { readonly kind: string } }): Result {
  if (!("result" in answer)) throw new Error(JSON.stringify(answer));
  return answer.result as Result;
}
