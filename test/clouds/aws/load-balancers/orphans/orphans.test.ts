import {
  CreateSecurityGroupCommand,
  DeleteTagsCommand,
  DescribeSecurityGroupsCommand,
} from "@aws-sdk/client-ec2";
import {
  CreateLoadBalancerCommand as CreateClassicCommand,
  DeleteLoadBalancerCommand as DeleteClassicCommand,
} from "@aws-sdk/client-elastic-load-balancing";
import {
  CreateLoadBalancerCommand,
  CreateTargetGroupCommand,
  DeleteLoadBalancerCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  ModifyLoadBalancerAttributesCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { createAwsWithoutWaits } from "#test/clouds/aws/aws-without-waits.ts";
import { type Clients, createClients, REGION } from "#test/clouds/aws/moto/clients.ts";
import { makeNetwork, type Network } from "#test/clouds/aws/moto/make-network.ts";
import { type MendedMoto, startMendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import { readAwsOutline } from "#test/crash-consistency/aws/state.ts";
import { type OrphansUnderTest, startOrphans } from "#test/functions/orphans/orphans-under-test.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const TAG = "orphans";
const TYPE = "service.beta.kubernetes.io/aws-load-balancer-type";
const NLB = { metadata: { annotations: { [TYPE]: "nlb" } } };
const DELETING = { loadBalancers: { deleteOrphaned: true } };
const KINDS = [
  { kind: "NLB", service: NLB, cloud: {} },
  { kind: "NLB with a group of its own", service: NLB, cloud: { nlbSecurityGroupMode: "Managed" } },
  { kind: "CLB", service: {}, cloud: {} },
] as const;

describeWithPart("moto", "load balancers whose Service is gone, on moto", (program) => {
  let moto: MendedMoto;
  let aws: Clients;
  let network: Network;
  let cluster: ClusterUnderTest;
  let under: OrphansUnderTest;
  let cloud: object = {};

  beforeAll(async () => {
    moto = await startMendedMoto(program, { hasPoints: true });
    aws = createClients(moto.url);
    vi.stubEnv("AWS_ENDPOINT_URL", moto.url);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
    cluster = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
    under = await startOrphans(cluster, () => ({
      config: { provider: "aws", region: REGION, vpc: network.vpc, clusterTag: TAG, ...cloud },
      make: createAwsWithoutWaits,
    }));
  });
  beforeEach(async () => {
    await under.reset();
    await moto.reset();
    moto.failures.drop();
    cloud = {};
    network = await makeNetwork(aws.ec2, { clusterTag: TAG });
    const [instance] = await network.launch(1);
    await cluster.join({ name: `${instance}`, providerID: `aws:///${REGION}a/${instance}` });
    return () => cluster.remove(`${instance}`);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    aws?.close();
    await Promise.all([moto?.close(), cluster?.close()]);
  });

  const outline = () => readAwsOutline(aws, network.vpc);
  const told = ({ lines }: Awaited<ReturnType<OrphansUnderTest["audit"]>>) =>
    lines
      .filter(({ event }) => event === "OrphanedLoadBalancer")
      .map(({ kind, name, code }) => [kind, name, code]);
  const tagsOf = (service: string, tag = TAG) => [
    { Key: `kubernetes.io/cluster/${tag}`, Value: "owned" },
    { Key: "kubernetes.io/service-name", Value: service },
  ];
  /**
   * Runs as many audits as a resource takes to be found, marked and deleted, and one more for its remains.
   */
  async function hour(): Promise<void> {
    for (let minute = 0; minute < 60; minute += 20) {
      await under.audit();
      under.later(20);
    }
  }

  describe.each(KINDS)("of kind $kind", ({ kind, service, cloud: configured }) => {
    /** Creates a live Service; returns its resources. */
    async function living(): Promise<readonly string[]> {
      cloud = configured;
      under.configure(DELETING);
      await under.create("lives", service);
      return outline();
    }

    test("is reported, marked, and deleted in its turn with all its parts, and nothing else is", async () => {
      const alone = await living();
      await under.create("lost", service);
      const both = await outline();
      expect(both.length).toBeGreaterThan(alone.length);
      await under.lose("lost");
      under.actions.length = 0;
      expect(told(await under.audit())).toEqual([
        [kind === "CLB" ? "classic load balancer" : "network load balancer", "lost", "ServiceGone"],
      ]);
      expect(under.actions).toHaveLength(1);
      under.later(10);
      await under.audit();
      expect(await outline()).toEqual(both);
      under.later(10);
      const audit = await under.audit();
      const deletions = audit.lines.filter(({ action }) => /:DeleteLoadBalancer$/.test(String(action)));
      expect(deletions).toEqual([expect.objectContaining({ cloudRequestId: expect.stringMatching(/./) })]);
      await hour();
      expect(await outline()).toEqual(alone);
      under.actions.length = 0;
      await hour();
      expect(under.actions).toEqual([]);
    });

    test("is deleted one at a time, with any number of actors", async () => {
      const alone = await living();
      for (const name of ["one", "two"]) {
        await under.create(name, service);
        await under.lose(name);
      }
      const isBalancer = (line: string) => line.includes("load balancer");
      const left: number[] = [];
      for (let minute = 0; minute <= 60; minute += 10) {
        await under.audit();
        await under.audit();
        left.push((await outline()).filter(isBalancer).length - alone.filter(isBalancer).length);
        under.later(10);
      }
      expect(left.slice(0, 5)).toEqual([2, 2, 1, 0, 0]);
      expect(await outline()).toEqual(alone);
    });

    test("is not deleted until the load balancer of a live Service proves the account", async () => {
      cloud = configured;
      under.configure(DELETING);
      await under.create("lost", service);
      await under.lose("lost");
      const before = await outline();
      const { report } = await under.audit();
      expect(report).toMatchObject({ outcome: "skipped", because: { code: "DeletionUnproven" } });
      await hour();
      expect(await outline()).toEqual(before);
    });

    test("leaves nothing behind if its deletion is killed between any two steps", async () => {
      const alone = await living();
      for (let steps = 0; ; steps += 1) {
        await under.create("lost", service);
        await under.lose("lost");
        await under.audit();
        under.later(20);
        under.actions.length = 0;
        const { report } = await under.audit({ steps });
        const isWhole = report !== undefined && report.outcome !== "retry" && under.actions.length > 0;
        await hour();
        expect(await outline(), `after ${steps} steps: ${under.actions.join(", ")}`).toEqual(alone);
        if (isWhole) break;
        expect(steps).toBeLessThan(60);
      }
    });

    test("belongs to its Service again after a restore from a backup, with its name, and no second one is made", async () => {
      await living();
      const before = await under.create("lost", service);
      const all = await outline();
      const backup = await cluster.plane.backup();
      await under.lose("lost");
      await under.audit();
      await cluster.plane.restore(backup);
      under.later(9);
      under.actions.length = 0;
      // The audit of the Service itself comes before its load balancer's turn, and removes the mark.
      await under.converge("lost", "refresh");
      expect(under.actions).toEqual([expect.stringMatching(/:RemoveTags/)]);
      under.later(9);
      under.actions.length = 0;
      expect(told(await under.audit())).toEqual([]);
      await hour();
      expect(under.actions).toEqual([]);
      expect(await outline()).toEqual(all);
      expect((await under.read("lost")).status).toEqual(before.status);
    });

    test("with the stock controller's tags alone is deleted too, and its group is found after a kill in between", async () => {
      const alone = await living();
      await under.create("lost", service);
      await under.lose("lost");
      const { SecurityGroups = [] } = await aws.ec2.send(
        new DescribeSecurityGroupsCommand({
          Filters: [{ Name: "tag:kubernetes.io/service-name", Values: ["default/lost"] }],
        }),
      );
      const Resources = SecurityGroups.flatMap(({ GroupId }) => GroupId ?? []);
      expect(Resources).toHaveLength(kind === "NLB" ? 0 : 1);
      if (Resources.length > 0)
        await aws.ec2.send(
          new DeleteTagsCommand({ Resources, Tags: [{ Key: "kubernetes.io/service-name" }] }),
        );
      await under.audit();
      under.later(20);
      // Until right after the load balancer itself is gone.
      moto.failures.plan({ operation: "ec2:DeleteSecurityGroup", count: 1, failure: { kind: "throttle" } });
      await under.audit();
      moto.failures.drop();
      await hour();
      expect(await outline()).toEqual(alone);
    });
  });

  test("resources of another cluster, with only one tag, or with another name are neither reported nor touched", async () => {
    under.configure(DELETING);
    await under.create("lives", NLB);
    const Subnets = [...network.subnets];
    const name = (digit: string) => `a${digit.repeat(31)}`;
    const balancers: readonly [Name: string, Tags: ReturnType<typeof tagsOf>][] = [
      [name("1"), tagsOf("default/lost", "other")],
      [name("2"), tagsOf("default/lost").slice(0, 1)],
      [name("3"), tagsOf("default/lost").slice(1)],
      [name("4"), []],
      ["by-hand", tagsOf("default/lost")],
    ];
    for (const [Name, Tags] of balancers) {
      await aws.elbv2.send(
        new CreateLoadBalancerCommand({
          Name,
          Type: "network",
          Subnets,
          ...(Tags.length > 0 ? { Tags } : {}),
        }),
      );
      await aws.elb.send(
        new CreateClassicCommand({
          LoadBalancerName: Name,
          Listeners: [{ Protocol: "TCP", LoadBalancerPort: 80, InstancePort: 30_080 }],
          Subnets: Subnets.slice(0, 1),
          ...(Tags.length > 0 ? { Tags } : {}),
        }),
      );
    }
    await aws.ec2.send(
      new CreateSecurityGroupCommand({
        GroupName: `k8s-elb-${name("1")}`,
        Description: "theirs",
        VpcId: network.vpc,
        TagSpecifications: [{ ResourceType: "security-group", Tags: tagsOf("default/lost", "other") }],
      }),
    );
    const before = await outline();
    under.actions.length = 0;
    expect(told(await under.audit())).toEqual([]);
    await hour();
    expect(under.actions).toEqual([]);
    expect(await outline()).toEqual(before);
  });

  test("an orphan is deleted, and a load balancer of the other kind with its name and without a tag stays", async () => {
    under.configure(DELETING);
    await under.create("lives", NLB);
    const { metadata } = await under.create("lost", NLB);
    const LoadBalancerName = `a${metadata.uid.replaceAll("-", "")}`.slice(0, 32);
    await aws.elb.send(
      new CreateClassicCommand({
        LoadBalancerName,
        Listeners: [{ Protocol: "TCP", LoadBalancerPort: 80, InstancePort: 30_080 }],
        Subnets: network.subnets.slice(0, 1),
      }),
    );
    await under.lose("lost");
    await hour();
    const left = await outline();
    expect(left).toContain(`classic load balancer ${LoadBalancerName}`);
    expect(left).not.toContain(`network load balancer ${LoadBalancerName}`);
    await aws.elb.send(new DeleteClassicCommand({ LoadBalancerName }));
  });

  test("the remains of a manually deleted load balancer are deleted, too", async () => {
    under.configure(DELETING);
    cloud = { nlbSecurityGroupMode: "Managed" };
    await under.create("lives", NLB);
    const alone = await outline();
    await under.create("lost", NLB);
    await under.lose("lost");
    const { LoadBalancers = [] } = await aws.elbv2.send(new DescribeLoadBalancersCommand({}));
    for (const { LoadBalancerArn, LoadBalancerName } of LoadBalancers) {
      if (alone.includes(`network load balancer ${LoadBalancerName}`)) continue;
      await aws.elbv2.send(new DeleteLoadBalancerCommand({ LoadBalancerArn }));
    }
    const { report, lines } = await under.audit();
    expect(report?.orphans?.count).toBe(0);
    expect(lines.filter(({ event }) => event === "OrphanedLoadBalancer").map(({ kind }) => kind)).toEqual([
      "target group",
      "security group",
    ]);
    await hour();
    // Only the deleted load balancer's name identified the rules that allowed it on the nodes.
    const rules = (await outline()).filter((line) => !line.startsWith("rule of"));
    expect(rules).toEqual(alone.filter((line) => !line.startsWith("rule of")));
  });

  test("one with deletion protection stays, is reported, and delays no other", async () => {
    under.configure(DELETING);
    await under.create("lives", NLB);
    for (const name of ["one", "two"]) {
      await under.create(name, NLB);
      await under.lose(name);
    }
    const { LoadBalancers = [] } = await aws.elbv2.send(new DescribeLoadBalancersCommand({}));
    const arns = LoadBalancers.flatMap(({ LoadBalancerArn }) => LoadBalancerArn ?? []);
    const { TagDescriptions = [] } = await aws.elbv2.send(new DescribeTagsCommand({ ResourceArns: arns }));
    const arn = TagDescriptions.find(({ Tags }) =>
      Tags?.some(({ Value }) => Value === "default/one"),
    )?.ResourceArn;
    await aws.elbv2.send(
      new ModifyLoadBalancerAttributesCommand({
        LoadBalancerArn: arn,
        Attributes: [{ Key: "deletion_protection.enabled", Value: "true" }],
      }),
    );
    const codes = new Set<string | undefined>();
    for (let minute = 0; minute < 60; minute += 10) {
      codes.add((await under.audit()).report?.because.code);
      under.later(10);
    }
    expect(codes).toContain("DeletionProtected");
    const left = (await aws.elbv2.send(new DescribeLoadBalancersCommand({}))).LoadBalancers ?? [];
    expect(left.map(({ LoadBalancerArn }) => LoadBalancerArn)).toContain(arn);
    expect(left).toHaveLength(2);
  });

  test("an audit without orphans costs a page of each kind, and the tags of those with our names", async () => {
    await under.create("lives", NLB);
    for (let index = 0; index < 30; index += 1)
      await aws.elbv2.send(
        new CreateTargetGroupCommand({
          Name: `theirs-${index}`,
          Protocol: "TCP",
          Port: 80,
          VpcId: network.vpc,
          TargetType: "instance",
        }),
      );
    moto.forgetCalls();
    await under.audit();
    expect(moto.counts()).toEqual({
      "elbv2:DescribeLoadBalancers": 1,
      "elb:DescribeLoadBalancers": 1,
      "elbv2:DescribeTargetGroups": 1,
      "ec2:DescribeSecurityGroups": 1,
      "elbv2:DescribeTags": 1,
    });
  });

  test.each([
    "elbv2:DescribeLoadBalancers",
    "elb:DescribeLoadBalancers",
    "elbv2:DescribeTargetGroups",
    "elbv2:DescribeTags",
  ])("does nothing if %s is denied", async (operation) => {
    under.configure(DELETING);
    await under.create("lives", NLB);
    await under.create("lost", NLB);
    await under.lose("lost");
    under.actions.length = 0;
    moto.failures.plan({ operation, count: 4, failure: { kind: "throttle" } });
    const { report } = await under.audit();
    expect(report).toMatchObject({ outcome: "retry", because: { code: "Throttled" } });
    expect(report?.orphans).toBeUndefined();
    expect(under.actions).toEqual([]);
  });
});
