import { afterAll, beforeAll, expect, test } from "vitest";
import { createMotoWorld, type MotoWorld } from "#test/clouds/aws/load-balancers/moto-world.ts";
import { type MendedMoto, startMendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

/** An ID without an instance. */
const BAD = "i-0123456789abcdef0";
const TAGS = [
  { Key: "kubernetes.io/cluster/demo", Value: "owned" },
  { Key: "kubernetes.io/service-name", Value: "default/web" },
];
const UID = "11111111-2222-3333-4444-555555555555";
const NAME = "a1111111122223333444455555555555";

describeWithPart("moto", "one bad id among those that are registered, on mended moto", (program) => {
  let moto: MendedMoto;
  let world: MotoWorld;
  beforeAll(async () => {
    moto = await startMendedMoto(program);
    world = await createMotoWorld(moto.url);
  });
  afterAll(async () => {
    world?.close();
    await moto?.close();
  });

  const question = {
    service: { metadata: { namespace: "default", name: "web", uid: UID } },
    wanted: true,
    nodes: [],
  };

  test("does not keep other targets out of a target group", async () => {
    const good = [await world.addInstance(), await world.addInstance()];
    const made = await world.act("elbv2:CreateTargetGroup", {
      ...{ Name: "k8s-default-web-0123456789", Protocol: "TCP", Port: 30_080, VpcId: world.vpc },
      ...{ TargetType: "instance", Tags: TAGS },
    });
    if (made.answer.kind !== "done") throw new Error(JSON.stringify(made.answer));
    const { TargetGroups } = made.answer.result as { TargetGroups: { TargetGroupArn: string }[] };
    const TargetGroupArn = TargetGroups[0]?.TargetGroupArn;
    const Targets = [good[0], BAD, good[1]].map((Id) => ({ Id, Port: 30_080 }));
    const { answer } = await world.act("elbv2:RegisterTargets", { TargetGroupArn, Targets });
    expect(answer).toEqual({ kind: "done", result: { refused: [BAD] } });
    const [group] = (await world.state(question)).targetGroups;
    expect(group?.targets.map(({ Id }) => Id).toSorted()).toEqual(good.toSorted());
  });

  test("does not keep other instances off a classic load balancer", async () => {
    const good = [await world.addInstance(), await world.addInstance()];
    await world.act("elb:CreateLoadBalancer", {
      LoadBalancerName: NAME,
      Listeners: [{ Protocol: "TCP", LoadBalancerPort: 80, InstancePort: 30_080 }],
      Subnets: [world.subnets[0]],
      Tags: TAGS,
    });
    const Instances = [good[0], BAD, good[1]].map((InstanceId) => ({ InstanceId }));
    const { answer } = await world.act("elb:RegisterInstancesWithLoadBalancer", {
      LoadBalancerName: NAME,
      Instances,
    });
    expect(answer).toEqual({ kind: "done", result: { refused: [BAD] } });
    const registered = (await world.state(question)).classic?.loadBalancer.Instances ?? [];
    expect(registered.map(({ InstanceId }) => InstanceId).toSorted()).toEqual(good.toSorted());
  });
});
