import {
  AuthorizeSecurityGroupIngressCommand,
  DeleteTagsCommand,
  DescribeSecurityGroupsCommand,
} from "@aws-sdk/client-ec2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";
import type { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import { createMotoWorld, type MotoWorld } from "#test/clouds/aws/load-balancers/moto-world.ts";
import {
  buildDeletionQuestion,
  buildNodes,
  buildQuestion,
  buildService,
  buildSettings,
  converge,
  createNetworkWorld,
  NAME,
  observe,
} from "#test/clouds/aws/load-balancers/network/world.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

/**
 * Two clusters in one VPC: the tenant of `evil` attacks `prod` through its API server, which answers with a
 * uid of `prod`.
 */
const VICTIM = buildSettings({ vpc: undefined, clusterTag: "prod" });
const HOSTILE: readonly (readonly [string, Settings])[] = [
  ["with clusterTag", { ...buildSettings({ vpc: undefined, clusterTag: "evil" }), cluster: "evil" }],
  ["with only vpc", { ...buildSettings({ vpc: "vpc-1" }), cluster: "evil" }],
  ["with both", { ...buildSettings({ vpc: "vpc-1", clusterTag: "evil" }), cluster: "evil" }],
];
const FORGED = buildService(
  { ports: [{ protocol: "TCP", port: 80, nodePort: 30080 }] },
  {},
  { name: "forged" },
);
const CLASSIC = buildService({}, { type: "" }, { name: "forged" });

const ATTACKS: readonly (readonly [string, LoadBalancerQuestion])[] = [
  ["the deletion of a network load balancer", buildDeletionQuestion(FORGED)],
  ["a network load balancer", buildQuestion(FORGED, buildNodes("i-1"))],
  ["the deletion of a classic load balancer", buildDeletionQuestion(CLASSIC)],
  ["a classic load balancer", buildQuestion(CLASSIC, buildNodes("i-1"))],
];

/** Returns the victim's load balancer, with its rules on a group of nodes that carries these tags. */
function attacked(tags: Readonly<Record<string, string>>): FakeElbv2 {
  const aws = createNetworkWorld();
  converge(aws, buildQuestion(buildService()), VICTIM);
  const groups = aws.vpc.groups.map((each) => ({ ...each, tags: { ...tags } }));
  aws.vpc = { ...aws.vpc, groups, subnets: aws.vpc.subnets.map((each) => ({ ...each, tags: { ...tags } })) };
  return aws;
}

const ROWS = HOSTILE.flatMap(([mode, hostile]) =>
  ATTACKS.flatMap(([attack, asked]) =>
    [{ "kubernetes.io/cluster/prod": "owned" }, {}].map((tags) => ({ mode, hostile, attack, asked, tags })),
  ),
);

test.each(ROWS)(
  "$attack, requested with a forged UID $mode, changes no resource of the victim ($tags)",
  ({ hostile, asked, tags }) => {
    const aws = attacked(tags);
    const before = structuredClone([aws.vpc, aws.balancers, aws.groups, aws.listeners]);
    const step = model.planStep(asked, observe(aws, asked, hostile), hostile);
    expect(step.kind).toBe(asked.wanted ? "refused" : "settled");
    if (step.kind === "act") for (const action of step.actions) aws.apply(action);
    const followed = model.followNodes?.(buildQuestion(asked.service), observe(aws, asked, hostile), hostile);
    expect(followed).toBeUndefined();
    expect([aws.vpc, aws.balancers, aws.groups, aws.listeners]).toEqual(before);
  },
);

describeWithPart("moto", "a forged uid on moto", (program) => {
  const TAGS = [
    { Key: "kubernetes.io/cluster/demo", Value: "owned" },
    { Key: "kubernetes.io/service-name", Value: "default/web" },
  ];
  let moto: Moto;
  let victim: MotoWorld;
  beforeAll(async () => {
    moto = await startMoto(program);
    victim = await createMotoWorld(moto.url);
    const request = { Name: NAME, Type: "network" as const, Subnets: [...victim.subnets], Tags: TAGS };
    await victim.act("elbv2:CreateLoadBalancer", request);
    const IpRanges = [{ CidrIp: "0.0.0.0/0", Description: `kubernetes.io/rule/nlb/client=${NAME}` }];
    await victim.ec2.send(
      new AuthorizeSecurityGroupIngressCommand({
        GroupId: victim.group,
        IpPermissions: [{ IpProtocol: "tcp", FromPort: 30_080, ToPort: 30_080, IpRanges }],
      }),
    );
  });
  afterAll(async () => {
    victim?.close();
    await moto?.close();
  });

  /** Returns the victim's group of nodes, and the number of load balancers and groups in its VPC. */
  async function seen(): Promise<unknown> {
    const Filters = [{ Name: "vpc-id", Values: [victim.vpc] }];
    const { SecurityGroups } = await victim.ec2.send(new DescribeSecurityGroupsCommand({ Filters }));
    const { network, classic } = await victim.state(buildQuestion(FORGED, []));
    return { SecurityGroups, network, classic };
  }

  test.each([
    ["tagged", "clusterTag in a VPC of its own", false],
    ["tagged", "the same VPC and clusterTag", true],
    ["without a tag", "clusterTag in a VPC of its own", false],
    ["without a tag", "the same VPC and clusterTag", true],
  ] as const)(
    "changes no resource of a victim whose node security group is %s, for a cluster configured by %s",
    async (tag, _, isSameVpc) => {
      if (tag !== "tagged")
        await victim.ec2.send(new DeleteTagsCommand({ Resources: [victim.group], Tags: TAGS.slice(0, 1) }));
      const cloud = { clusterTag: "evil", ...(isSameVpc ? { vpc: victim.vpc } : {}) };
      const hostile = await createMotoWorld(moto.url, false, cloud);
      const of: Settings = { ...buildSettings({ vpc: undefined, ...cloud }), cluster: "evil" };
      const before = await seen();
      for (const [, asked] of ATTACKS) {
        const step = model.planStep(asked, await hostile.state(asked), of);
        expect(step.kind).toBe(asked.wanted ? "refused" : "settled");
        expect(
          model.followNodes?.(buildQuestion(asked.service), await hostile.state(asked), of),
        ).toBeUndefined();
      }
      expect(await seen()).toEqual(before);
      hostile.close();
    },
  );
});
