import { CreateTagsCommand } from "@aws-sdk/client-ec2";
import { CreateLoadBalancerCommand as CreateClassicCommand } from "@aws-sdk/client-elastic-load-balancing";
import {
  CreateLoadBalancerCommand,
  CreateTargetGroupCommand,
  DeleteLoadBalancerCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { checkNodeGroups, checkSubnets, diagnoseNetworkOnAws } from "#clouds/aws/diagnose-services.ts";
import { describeOnAws } from "#clouds/aws/load-balancers/describe.ts";
import { awsLoadBalancerModel } from "#clouds/aws/load-balancers/model.ts";
import type { SubnetState } from "#clouds/aws/load-balancers/state.ts";
import type { CheckResult } from "#core/check-result.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { ALLOW_NOTHING } from "#test/clouds/aws/load-balancers/vpc/builders.ts";
import { buildService } from "#test/core/service/builders.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { createClients, REGION } from "./moto/clients.ts";
import { makeNetwork, type Network } from "./moto/make-network.ts";
import { type MendedMoto, startMendedMoto } from "./moto/start-mended-moto.ts";

const TAG = "kubernetes.io/cluster/demo";
const subnet = (id: string, zone: string, tags: object = {}, isPublic = true): SubnetState => ({
  subnet: { SubnetId: id, AvailabilityZone: zone },
  tags: { ...tags },
  isPublic,
  zoneType: "availability-zone",
});
const JUDGED = {
  vpc: "vpc-1",
  clusterTag: "demo",
  fallbackId: undefined,
  allow: ALLOW_NOTHING,
  isVpcConfigured: true,
};
const ELB = { "kubernetes.io/role/elb": "1" };

test.each<[string, readonly SubnetState[], CheckResult["outcome"], string]>([
  ["one of each zone", [subnet("s-1", "a"), subnet("s-2", "b")], "ok", "internet-facing in s-1 (a), s-2 (b)"],
  [
    "only private ones",
    [subnet("s-1", "a", {}, false)],
    "warning",
    "internet-facing in none; internal in s-1 (a)",
  ],
  [
    "only another cluster's",
    [subnet("s-1", "a", { "kubernetes.io/cluster/x": "shared" })],
    "failed",
    "internal in none",
  ],
  [
    "two in a zone without a role tag",
    [subnet("s-1", "a"), subnet("s-2", "a")],
    "warning",
    "several subnets of a",
  ],
  [
    "two in a zone with the same role tag",
    [subnet("s-1", "a", ELB), subnet("s-2", "a", ELB)],
    "warning",
    "several subnets of a",
  ],
  [
    "two in a zone, one with a role tag",
    [subnet("s-1", "a"), subnet("s-2", "a", ELB)],
    "ok",
    "internet-facing in s-2 (a)",
  ],
])("subnets: %s", (_, subnets, outcome, message) => {
  expect(checkSubnets(subnets, JUDGED)).toMatchObject({
    outcome,
    message: expect.stringContaining(message),
  });
});

test.each<[string, readonly string[], readonly string[], CheckResult["outcome"], string]>([
  ["its only group", ["g-1"], ["g-1"], "ok", "one security group of each of 1 instance"],
  [
    "its only group without a tag",
    ["g-1"],
    [],
    "failed",
    "NodeSecurityGroupNotProven: 1 security groups are not proven to be of this cluster's nodes alone, and their rules stay unchanged: g-1",
  ],
  ["one tagged of two", ["g-1", "g-2"], ["g-2"], "ok", "1 instance"],
  ["none tagged of two", ["g-1", "g-2"], [], "failed", "NoNodeSecurityGroup"],
  ["two tagged of two", ["g-1", "g-2"], ["g-1", "g-2"], "failed", "AmbiguousNodeSecurityGroup"],
])("security groups of an instance: %s", (_, groupIds, tagged, outcome, message) => {
  const groups = ["g-1", "g-2"].map((id) => ({
    group: { GroupId: id },
    tags: tagged.includes(id) ? { [TAG]: "owned" } : {},
    ingress: [],
  }));
  const vpc = { id: "vpc-1", subnets: [], groups, instances: { "i-1": { state: "running", groupIds } } };
  expect(checkNodeGroups(vpc, JUDGED, true)).toMatchObject({
    outcome,
    message: expect.stringContaining(message),
  });
});

test("without clusterTag the check recommends it, and says what to tag first", () => {
  const groups = [{ group: { GroupId: "g-1" }, tags: { [TAG]: "owned" }, ingress: [] }];
  const instances = { "i-1": { state: "running", groupIds: ["g-1"] } };
  expect(checkNodeGroups({ id: "vpc-1", subnets: [], groups, instances }, JUDGED, false)).toMatchObject({
    outcome: "warning",
    message: expect.stringContaining("every instance of the VPC that carries no cluster's tag"),
    remedy: `tag the cluster's instances ${TAG}, and set cloud.clusterTag: demo`,
  });
});

describeWithPart("moto", "a cluster's network on moto", (program) => {
  let moto: MendedMoto;
  let network: Network;
  let clients: ReturnType<typeof createClients>;
  let ids: readonly string[];
  let config: AwsCloudConfig;

  beforeAll(async () => {
    moto = await startMendedMoto(program);
    for (const name of ["EC2", "ELASTIC_LOAD_BALANCING", "ELASTIC_LOAD_BALANCING_V2"])
      vi.stubEnv(`AWS_ENDPOINT_URL_${name}`, moto.url);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
    clients = createClients(moto.url);
    network = await makeNetwork(clients.ec2, { clusterTag: "demo" });
    ids = await network.launch(2);
    config = AwsCloudConfig.parse({ provider: "aws", region: REGION, vpc: network.vpc, clusterTag: "demo" });
  });
  afterAll(async () => {
    clients.close();
    vi.unstubAllEnvs();
    await moto.close();
  });

  test("reads the VPC as it is, and reports a second subnet of a zone", async () => {
    const diagnosis = diagnoseNetworkOnAws(config, { clusterName: "demo" });
    const signal = AbortSignal.timeout(120_000);
    try {
      expect(await diagnosis.securityGroups(signal)).toMatchObject({
        outcome: "ok",
        message: "one security group of each of 2 instances",
      });
      expect(await diagnosis.routeTables(signal)).toMatchObject({
        outcome: "ok",
        message: expect.stringContaining(`${network.routeTable} with `),
      });
      expect(await diagnosis.subnets(signal)).toMatchObject({ outcome: "ok" });
      await network.twinSubnet();
      expect(await diagnosis.subnets(signal)).toMatchObject({
        outcome: "warning",
        message: expect.stringContaining(`several subnets of ${REGION}a`),
      });
      await clients.ec2.send(
        new CreateTagsCommand({ Resources: [...network.subnets], Tags: [ELB_TAG, INTERNAL_TAG] }),
      );
      expect(await diagnosis.subnets(signal)).toMatchObject({ outcome: "ok" });
    } finally {
      diagnosis.close();
    }
  });

  test("reads the account's limits page by page, and how much of them is used", async () => {
    const diagnosis = diagnoseNetworkOnAws(config, { clusterName: "demo" });
    const signal = AbortSignal.timeout(120_000);
    const named = (uid: string, annotations: Record<string, string> = {}) =>
      buildService({ metadata: { uid, annotations } });
    const nodes = ids.map((id) => ({ providerID: `aws:///${REGION}a/${id}` }));
    try {
      const made = await clients.elbv2.send(
        new CreateLoadBalancerCommand({ Name: "another", Type: "network", Subnets: [...network.subnets] }),
      );
      await clients.elbv2.send(
        new CreateTargetGroupCommand({ Name: "tg", Protocol: "TCP", Port: 1, VpcId: network.vpc }),
      );
      await clients.elb.send(
        new CreateClassicCommand({
          LoadBalancerName: "ac",
          Subnets: network.subnets.slice(0, 1),
          Listeners: [{ Protocol: "TCP", LoadBalancerPort: 80, InstancePort: 1 }],
        }),
      );
      moto.limitPages(2);
      moto.forgetCalls();
      const services = [named("c"), named("d"), named("n", NLB)];
      expect(await diagnosis.accountLimits({ services, nodes }, signal)).toEqual({
        outcome: "ok",
        message: [
          "network load balancers 1 and 1 requested, of 50",
          "target groups 1 and 1 requested, of 3000",
          "classic load balancers 1 and 1 requested, of 20",
          "listeners per network load balancer 1 of 50",
          "targets per network load balancer 2 of 3000",
          "targets per network load balancer and zone 2 of 500",
          "listeners per classic load balancer 1 of 100",
          "instances per classic load balancer 2 of 1000",
        ].join("; "),
      });
      expect(moto.counts()["elbv2:DescribeAccountLimits"]).toBe(3);
      moto.failures.plan({
        operation: "elbv2:DescribeAccountLimits",
        failure: { kind: "refuse", code: "AccessDenied" },
      });
      expect(await diagnosis.accountLimits({ services, nodes }, signal)).toMatchObject({
        outcome: "skipped",
        message: expect.stringContaining("DescribeAccountLimits is not allowed"),
      });
      const LoadBalancerArn = made.LoadBalancers?.[0]?.LoadBalancerArn;
      await clients.elbv2.send(new DeleteLoadBalancerCommand({ LoadBalancerArn }));
    } finally {
      moto.limitPages(400);
      diagnosis.close();
    }
  });

  test.each<[string, object, readonly string[]]>([
    [
      "network",
      NLB,
      [
        "network load balancer a5f3c8f0e2f0a4b559d0b0d6a4c2a9b1: active, internet-facing, ipv4",
        "its tags name this Service",
        "listener TCP:80 to k8s-default-web-",
        "(TCP:30080, instance), 2 targets",
        "security groups: ",
      ],
    ],
    [
      "classic",
      {},
      [
        "classic load balancer a5f3c8f0e2f0a4b559d0b0d6a4c2a9b1: internet-facing",
        "its tags name this Service",
        "listener TCP:80 to TCP:30080",
        "instances: 2",
        "(created for it)",
      ],
    ],
  ])(
    "describes a %s load balancer from its creation until it is settled, and as missing after its removal",
    async (_, annotations, words) => {
      const uid = "5f3c8f0e-2f0a-4b55-9d0b-0d6a4c2a9b10";
      const object = buildService({
        metadata: { uid, annotations: { ...annotations } as Record<string, string> },
      });
      const settings = { ...DEFAULT_SETTINGS, cluster: "demo", cloud: { ...config } };
      const nodes = ids.map((id) => ({ name: id, providerID: `aws:///${REGION}a/${id}` }));
      const cloud = createAwsCloud(config, { clusterName: "demo" });
      const call = { signal: AbortSignal.timeout(120_000), share: 1 };
      const capability = cloud.capabilities?.["loadBalancers"];
      if (capability === undefined) throw new Error("the cloud has no load balancers");
      const rounds = async (question: LoadBalancerQuestion) => {
        for (let round = 0; round < 40; round += 1) {
          const { answers } = await capability.observe([question], call);
          const [answer] = answers;
          if (answer?.kind !== "observed") throw new Error(JSON.stringify(answer));
          const step = awsLoadBalancerModel.planStep(question, answer.state, settings);
          if (step.kind === "settled") return describeOnAws(object, answer.state, settings);
          if (step.kind !== "act") continue;
          for (const action of step.actions) {
            const precondition = { uid, deleting: false };
            await capability.act({ on: "cloud", capability: "loadBalancers", precondition, ...action }, call);
          }
        }
        throw new Error("not settled");
      };
      try {
        const made = await rounds({ service: object, wanted: true, nodes });
        expect(made?.belongsTo).toBe("service");
        for (const each of words) expect(made?.lines.join("\n")).toContain(each);
        expect(await rounds({ service: object, wanted: false, nodes: [] })).toEqual({
          belongsTo: "none",
          lines: [],
        });
      } finally {
        await cloud.close();
      }
    },
  );
});

const NLB = { "service.beta.kubernetes.io/aws-load-balancer-type": "nlb" };
const ELB_TAG = { Key: "kubernetes.io/role/elb", Value: "1" };
const INTERNAL_TAG = { Key: "kubernetes.io/role/internal-elb", Value: "1" };
