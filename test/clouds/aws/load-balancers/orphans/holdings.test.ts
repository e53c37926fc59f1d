import { CreateSecurityGroupCommand } from "@aws-sdk/client-ec2";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { formatSharedGroupName } from "#clouds/aws/load-balancers/network/shared-group.ts";
import type { Observation } from "#core/capability.ts";
import { Holding, HoldingsState } from "#core/service/holdings.ts";
import { createMotoWorld, type MotoWorld } from "#test/clouds/aws/load-balancers/moto-world.ts";
import { type MendedMoto, startMendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const tagsOf = (service: string, cluster = "demo", value = "owned") => [
  { Key: `kubernetes.io/cluster/${cluster}`, Value: value },
  { Key: "kubernetes.io/service-name", Value: service },
];

describeWithPart("moto", "what a cluster's Services have on moto", (program) => {
  let moto: MendedMoto;
  let world: MotoWorld;
  beforeAll(async () => {
    moto = await startMendedMoto(program, { hasPoints: true });
  });
  beforeEach(async () => {
    await moto.reset();
    world = await createMotoWorld(moto.url);
    return () => world.close();
  });
  afterAll(() => moto?.close());

  const holdings = async (): Promise<Observation | undefined> =>
    (await world.observe({ holdings: true })).answers[0];
  const balancer = (Name: string, Tags: ReturnType<typeof tagsOf>) =>
    world.act("elbv2:CreateLoadBalancer", { Name, Type: "network", Subnets: [...world.subnets], Tags });

  test("counts only load balancers whose names and tags are those of Services", async () => {
    const nameOf = (digit: string): string => `a${digit.repeat(31)}`;
    await balancer(nameOf("1"), tagsOf("default/web"));
    await balancer(nameOf("2"), tagsOf("default/web", "theirs"));
    await balancer("by-hand", tagsOf("default/web"));
    await world.act("elb:CreateLoadBalancer", {
      LoadBalancerName: nameOf("3"),
      Listeners: [{ Protocol: "TCP", LoadBalancerPort: 80, InstancePort: 30_080 }],
      Subnets: [world.subnets[0]],
      Tags: tagsOf("default/old"),
    });
    const [answer] = (await world.observe({ holdings: true, balancersAlone: true })).answers;
    const found = HoldingsState.parse(answer?.kind === "observed" ? answer.state : undefined).holdings;
    expect(found.map(({ kind, uid, service }) => [kind, uid, service])).toEqual([
      ["network load balancer", "1".repeat(31), "default/web"],
      ["classic load balancer", "3".repeat(31), "default/old"],
    ]);
  });

  const COUNT = { holdings: true, balancersAlone: true };
  const count = async (asked: object = COUNT): Promise<HoldingsState> => {
    const [answer] = (await world.observe(asked)).answers;
    return HoldingsState.parse(answer?.kind === "observed" ? answer.state : undefined);
  };

  test("is counted with its listeners, and so are an audit's findings", async () => {
    const [network, classic] = [`a${"1".repeat(31)}`, `a${"2".repeat(31)}`];
    const arnIn = ({ answer }: Awaited<ReturnType<typeof balancer>>, kind: string): string =>
      answer.kind === "done"
        ? (JSON.stringify(answer.result).match(`arn:[^"]*:${kind}/[^"]*`)?.[0] ?? "")
        : "";
    const LoadBalancerArn = arnIn(await balancer(network, tagsOf("default/web")), "loadbalancer");
    for (const Port of [80, 443, 8_080]) {
      const group = await world.act("elbv2:CreateTargetGroup", {
        Name: `k8s-${Port}`,
        Protocol: "TCP",
        Port,
        VpcId: world.vpc,
      });
      await world.act("elbv2:CreateListener", {
        LoadBalancerArn,
        Protocol: "TCP",
        Port,
        DefaultActions: [{ Type: "forward", TargetGroupArn: arnIn(group, "targetgroup") }],
      });
    }
    await world.act("elb:CreateLoadBalancer", {
      LoadBalancerName: classic,
      Listeners: [80, 443].map((port) => ({
        Protocol: "TCP",
        LoadBalancerPort: port,
        InstancePort: 30_000 + port,
      })),
      Subnets: [world.subnets[0]],
      Tags: tagsOf("default/old"),
    });
    for (const asked of [COUNT, { holdings: true, auditAt: "2026-01-01T00:00:00Z" }]) {
      const { holdings: found } = await count(asked);
      expect(found.map(({ name, listeners }) => [name, listeners])).toEqual([
        [network, 3],
        [classic, 2],
      ]);
    }
  });

  test("comes with the account's limits on request, which are read once", async () => {
    const asked = { ...COUNT, quotas: true };
    const quotas = { "network load balancer": 50, "classic load balancer": 20, listeners: 3_000 };
    expect((await count()).quotas).toBeUndefined();
    expect(moto.counts()["elbv2:DescribeAccountLimits"]).toBeUndefined();
    expect([(await count(asked)).quotas, (await count(asked)).quotas]).toEqual([quotas, quotas]);
    expect(moto.counts()).toMatchObject({
      "elb:DescribeAccountLimits": 1,
      "elbv2:DescribeAccountLimits": 1,
    });
  });

  test("is counted even if AWS does not return the account's limits", async () => {
    await balancer(`a${"1".repeat(31)}`, tagsOf("default/web"));
    moto.failures.plan({
      operation: "elbv2:DescribeAccountLimits",
      failure: { kind: "refuse", code: "AccessDenied" },
    });
    const { holdings: found, quotas } = await count({ ...COUNT, quotas: true });
    expect([found.length, quotas]).toEqual([1, {}]);
  });

  test("is found by the tags of cluster and Service, of every kind, and no resource of others is", async () => {
    await balancer("a1", tagsOf("default/web"));
    await balancer("a2", tagsOf("default/web", "theirs"));
    await balancer("a3", tagsOf("default/web", "demo", "shared"));
    await balancer("a4", tagsOf("default/web").slice(0, 1));
    const port = { Protocol: "TCP", LoadBalancerPort: 80, InstancePort: 30_080 };
    await world.act("elb:CreateLoadBalancer", {
      LoadBalancerName: "c1",
      Listeners: [port],
      Subnets: [world.subnets[0]],
      Tags: tagsOf("default/old"),
    });
    await world.act("elbv2:CreateTargetGroup", {
      Name: "t1",
      Protocol: "TCP",
      Port: 30_001,
      VpcId: world.vpc,
      TargetType: "instance",
      Tags: tagsOf("default/web"),
    });
    const { GroupId } = await world.ec2.send(
      new CreateSecurityGroupCommand({
        GroupName: "g1",
        Description: "x",
        VpcId: world.vpc,
        TagSpecifications: [{ ResourceType: "security-group", Tags: tagsOf("default/old") }],
      }),
    );
    const answer = await holdings();
    const found = HoldingsState.parse(answer?.kind === "observed" ? answer.state : undefined).holdings;
    expect(found).toEqual([
      expect.objectContaining({ kind: "network load balancer", name: "a1", service: "default/web" }),
      expect.objectContaining({ kind: "target group", name: "t1", service: "default/web" }),
      { kind: "classic load balancer", id: "c1", name: "c1", service: "default/old" },
      { kind: "security group", id: GroupId, name: "g1", service: "default/old" },
    ]);
    for (const each of found) expect(Holding.safeParse(each).success).toBe(true);
  });

  test("includes the group that all network load balancers share, which belongs to no Service", async () => {
    const groupOf = async (GroupName: string, Value = "owned") => {
      const made = await world.ec2.send(
        new CreateSecurityGroupCommand({
          GroupName,
          Description: "x",
          VpcId: world.vpc,
          TagSpecifications: [
            { ResourceType: "security-group", Tags: [{ Key: "kubernetes.io/cluster/demo", Value }] },
          ],
        }),
      );
      return made.GroupId;
    };
    const shared = await groupOf(formatSharedGroupName("demo"));
    await groupOf(formatSharedGroupName("theirs"));
    const answer = await holdings();
    const { holdings: found } = HoldingsState.parse(answer?.kind === "observed" ? answer.state : undefined);
    expect(found).toEqual([
      {
        kind: "security group of all network load balancers",
        id: shared,
        name: formatSharedGroupName("demo"),
      },
    ]);
  });

  test.each([
    "elbv2:DescribeLoadBalancers",
    "elbv2:DescribeTags",
    "elb:DescribeLoadBalancers",
    "ec2:DescribeSecurityGroups",
  ])("is not called complete if %s is refused", async (operation) => {
    await balancer("a1", tagsOf("default/web"));
    moto.failures.plan({ operation, count: 4, failure: { kind: "throttle" } });
    expect(await holdings()).toMatchObject({ kind: "error", code: "Throttled" });
  });
});
