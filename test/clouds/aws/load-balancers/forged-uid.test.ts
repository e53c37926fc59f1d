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
import { type MotoWorld, motoWorld } from "#test/clouds/aws/load-balancers/moto-world.ts";
import {
  converge,
  gone,
  NAME,
  nodes,
  observe,
  question,
  service,
  settings,
  world,
} from "#test/clouds/aws/load-balancers/network/world.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

/** Two clusters in one VPC: `prod` is attacked by the tenant of `evil`, whose API server answers with a uid of `prod`. */
const VICTIM = settings({ vpc: undefined, clusterTag: "prod" });
const HOSTILE: readonly (readonly [string, Settings])[] = [
  ["with clusterTag", { ...settings({ vpc: undefined, clusterTag: "evil" }), cluster: "evil" }],
  ["with vpc alone", { ...settings({ vpc: "vpc-1" }), cluster: "evil" }],
  ["with both", { ...settings({ vpc: "vpc-1", clusterTag: "evil" }), cluster: "evil" }],
];
const FORGED = service({ ports: [{ protocol: "TCP", port: 80, nodePort: 30080 }] }, {}, { name: "forged" });
const CLASSIC = service({}, { type: "" }, { name: "forged" });

const ATTACKS: readonly (readonly [string, LoadBalancerQuestion])[] = [
  ["a network load balancer that is to go", gone(FORGED)],
  ["a network load balancer that is wanted", question(FORGED, nodes("i-1"))],
  ["a classic load balancer that is to go", gone(CLASSIC)],
  ["a classic load balancer that is wanted", question(CLASSIC, nodes("i-1"))],
];

/** The victim's load balancer, with its rules on a group of nodes that carries these tags. */
function attacked(tags: Readonly<Record<string, string>>): FakeElbv2 {
  const aws = world();
  converge(aws, question(service()), VICTIM);
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
  "$attack, asked for by a forged uid $mode, changes nothing of the victim's ($tags)",
  ({ hostile, asked, tags }) => {
    const aws = attacked(tags);
    const before = structuredClone([aws.vpc, aws.balancers, aws.groups, aws.listeners]);
    const step = model.next(asked, observe(aws, asked, hostile), hostile);
    expect(step.kind).toBe(asked.wanted ? "refused" : "settled");
    if (step.kind === "act") for (const action of step.actions) aws.apply(action);
    const followed = model.followNodes?.(question(asked.service), observe(aws, asked, hostile), hostile);
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
    victim = await motoWorld(moto.url);
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

  /** The victim's group of nodes, and how many load balancers and groups there are in its VPC. */
  async function seen(): Promise<unknown> {
    const Filters = [{ Name: "vpc-id", Values: [victim.vpc] }];
    const { SecurityGroups } = await victim.ec2.send(new DescribeSecurityGroupsCommand({ Filters }));
    const { network, classic } = await victim.state(question(FORGED, []));
    return { SecurityGroups, network, classic };
  }

  test.each([
    ["tagged", "clusterTag in a VPC of its own", false],
    ["tagged", "the same VPC and clusterTag", true],
    ["without a tag", "clusterTag in a VPC of its own", false],
    ["without a tag", "the same VPC and clusterTag", true],
  ] as const)(
    "changes nothing of the victim's, whose group of nodes is %s, for a cluster configured by %s",
    async (tag, _, isSameVpc) => {
      if (tag !== "tagged")
        await victim.ec2.send(new DeleteTagsCommand({ Resources: [victim.group], Tags: TAGS.slice(0, 1) }));
      const cloud = { clusterTag: "evil", ...(isSameVpc ? { vpc: victim.vpc } : {}) };
      const hostile = await motoWorld(moto.url, false, cloud);
      const of: Settings = { ...settings({ vpc: undefined, ...cloud }), cluster: "evil" };
      const before = await seen();
      for (const [, asked] of ATTACKS) {
        const step = model.next(asked, await hostile.state(asked), of);
        expect(step.kind).toBe(asked.wanted ? "refused" : "settled");
        expect(model.followNodes?.(question(asked.service), await hostile.state(asked), of)).toBeUndefined();
      }
      expect(await seen()).toEqual(before);
      hostile.close();
    },
  );
});
