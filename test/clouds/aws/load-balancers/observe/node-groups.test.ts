import type { NetworkInterface } from "@aws-sdk/client-ec2";
import { describe, expect, test } from "vitest";
import { createBalancerLists } from "#clouds/aws/load-balancers/observe/all-load-balancers.ts";
import {
  createNodeGroupProofs,
  type NodeGroupProofs,
} from "#clouds/aws/load-balancers/observe/node-groups.ts";
import { observeLoadBalancers } from "#clouds/aws/load-balancers/observe/observe.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { AwsLoadBalancerState, SecurityGroupState } from "#clouds/aws/load-balancers/state.ts";
import { CLIENT_RULE } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import { type CloudError, fault, ok } from "#clouds/outcome.ts";
import {
  ALLOW_NOTHING,
  buildGroup,
  buildRule,
  OURS,
  THEIRS,
} from "#test/clouds/aws/load-balancers/vpc/builders.ts";

const IDENTITY = { clusterTag: "demo", allow: ALLOW_NOTHING };
const OWN_TAG = [{ Key: "kubernetes.io/cluster/demo", Value: "owned" }];

type Answers = Readonly<Record<string, (request: Record<string, unknown>) => unknown>>;

/** Answers as the table says, and counts each call; an Error in the table is a fault, by default a lasting one. */
function account(answers: Answers): { readonly read: Reader; readonly calls: string[] } {
  const calls: string[] = [];
  const read = async (name: string, request: object) => {
    calls.push(name);
    const answer = answers[name]?.(request as Record<string, unknown>) ?? {};
    if (!(answer instanceof Error)) return ok(answer);
    const temporary = answer.cause as CloudError | undefined;
    return temporary === undefined ? fault("Denied", answer.message) : { kind: "fault", fault: temporary };
  };
  return { read: read as unknown as Reader, calls };
}

const on = (instance: string | undefined, ...groups: readonly string[]): NetworkInterface => ({
  Groups: groups.map((GroupId) => ({ GroupId })),
  ...(instance === undefined ? {} : { Attachment: { InstanceId: instance } }),
});

/**
 * Builds an account with these interfaces, in which `i-1` and `i-2` carry the cluster's tag and `i-db`
 * carries no tag.
 */
const withInterfaces = (interfaces: readonly NetworkInterface[] | Error): Answers => ({
  "ec2:DescribeNetworkInterfaces": () =>
    interfaces instanceof Error ? interfaces : { NetworkInterfaces: interfaces },
  "ec2:DescribeInstances": ({ Filters }) => ({
    Reservations: [
      {
        Instances: (Filters as { Values: string[] }[])[0]?.Values.map((InstanceId) => ({
          InstanceId,
          VpcId: "vpc-1",
          Tags: InstanceId === "i-db" ? [] : OWN_TAG,
        })),
      },
    ],
  }),
});

const asked = (...groupIds: readonly string[]) => ({
  identity: IDENTITY,
  groupIds: new Set(groupIds),
  isOurs: ({ description }: { description: string | undefined }) => description === CLIENT_RULE,
});

/** Returns a target's group after the proof. */
async function proveGroup(proofs: NodeGroupProofs, read: Reader): Promise<SecurityGroupState | undefined> {
  const answer = await proofs.prove([buildGroup("sg-1")], asked("sg-1"), read);
  if (answer.kind === "fault") throw new Error(answer.fault.message);
  return answer.value[0];
}

const TEMPORARY: readonly CloudError[] = [
  { code: "Throttled", message: "RequestLimitExceeded" },
  { code: "Aborted", message: "out of time" },
  { code: "Unavailable", message: "InternalError", transient: true },
];

describe("a security group without a tag", () => {
  test.each(TEMPORARY)("is a fault if a retry may prove it ($code), and is read again", async (cause) => {
    const proofs = createNodeGroupProofs(() => 0);
    for (const name of ["ec2:DescribeNetworkInterfaces", "ec2:DescribeInstances"]) {
      const interfaces = withInterfaces([on("i-1", "sg-1")]);
      const { read } = account({ ...interfaces, [name]: () => new Error(cause.message, { cause }) });
      const answer = await proofs.prove([buildGroup("sg-1")], asked("sg-1"), read);
      expect(answer).toEqual({ kind: "fault", fault: cause });
    }
    const { read } = account(withInterfaces([on("i-1", "sg-1")]));
    expect((await proveGroup(proofs, read))?.isOnNodesAlone).toBe(true);
  });

  test("that does not matter causes no fault", async () => {
    const [cause] = TEMPORARY;
    const { read } = account(withInterfaces(new Error("slow", { cause })));
    const answer = await createNodeGroupProofs(() => 0).prove([buildGroup("sg-1")], asked(), read);
    expect(answer).toEqual(ok([buildGroup("sg-1")]));
  });

  test.each<[string, readonly NetworkInterface[] | Error, boolean]>([
    ["that only the cluster's instances have", [on("i-1", "sg-1"), on("i-2", "sg-1", "sg-2")], true],
    ["that an instance without the tag has, too,", [on("i-1", "sg-1"), on("i-db", "sg-1")], false],
    ["that an interface of no instance has, too,", [on("i-1", "sg-1"), on(undefined, "sg-1")], false],
    ["that is not in use", [], false],
    ["that AWS does not return", new Error("not authorized"), false],
  ])("%s is proven: %s", async (_, interfaces, expected) => {
    const { read } = account(withInterfaces(interfaces));
    const marked = await proveGroup(
      createNodeGroupProofs(() => 0),
      read,
    );
    expect(marked?.isOnNodesAlone === true).toBe(expected);
  });

  test("is not proven by a page without a list, nor by pages without end", async () => {
    for (const answer of [{}, { NetworkInterfaces: [on("i-1", "sg-1")], NextToken: "more" }]) {
      const { read, calls } = account({
        ...withInterfaces([]),
        "ec2:DescribeNetworkInterfaces": () => answer,
      });
      const marked = await proveGroup(
        createNodeGroupProofs(() => 0),
        read,
      );
      expect(marked).toEqual(buildGroup("sg-1"));
      expect(calls.length).toBeLessThanOrEqual(40);
    }
  });

  test("is read once a minute if it is proven, and after ten seconds if it is not", async () => {
    const clock = { ms: 0 };
    const proofs = createNodeGroupProofs(() => clock.ms);
    const proven = account(withInterfaces([on("i-1", "sg-1")]));
    for (const ms of [0, 1, 59_999]) {
      clock.ms = ms;
      await proofs.prove([buildGroup("sg-1")], asked("sg-1"), proven.read);
    }
    expect(proven.calls).toEqual(["ec2:DescribeNetworkInterfaces", "ec2:DescribeInstances"]);
    clock.ms = 60_000;
    const shared = account(withInterfaces([on("i-1", "sg-1"), on("i-db", "sg-1")]));
    const now = await proveGroup(proofs, shared.read);
    expect(now?.isOnNodesAlone).toBeUndefined();
    clock.ms = 70_000;
    const later = await proveGroup(proofs, proven.read);
    expect(later?.isOnNodesAlone).toBe(true);
  });
});

test("only groups that lack other proof and concern our load balancers are read", async () => {
  const groups = [
    buildGroup("sg-own", { tags: OURS }),
    buildGroup("sg-theirs", { tags: THEIRS, ingress: [buildRule("tcp", [1, 1], "0.0.0.0/0", CLIENT_RULE)] }),
    buildGroup("sg-listed"),
    buildGroup("sg-database"),
    buildGroup("sg-ruled", { ingress: [buildRule("tcp", [1, 1], "0.0.0.0/0", CLIENT_RULE)] }),
    buildGroup("sg-referring", { ingress: [buildRule("-1", [0, 0], "sg-own")] }),
  ];
  const seen: unknown[] = [];
  const { read } = account({
    "ec2:DescribeNetworkInterfaces": ({ Filters }) => {
      seen.push(Filters);
      return { NetworkInterfaces: [] };
    },
  });
  const question = asked("sg-own", "sg-theirs", "sg-listed");
  const allow = { ...ALLOW_NOTHING, nodeSecurityGroups: ["sg-listed"] };
  await createNodeGroupProofs(() => 0).prove(groups, { ...question, identity: { ...IDENTITY, allow } }, read);
  expect(seen).toEqual([[{ Name: "group-id", Values: ["sg-ruled", "sg-referring"] }]]);
  const tagged = account({});
  await createNodeGroupProofs(() => 0).prove(groups.slice(0, 1), question, tagged.read);
  expect(tagged.calls).toEqual([]);
});

describe("a load balancer of a forged uid, without a configured VPC,", () => {
  const UID = "3f0e6a52-8d1b-4c7e-9a44-0b1c2d3e4f50";
  const NAME = "a3f0e6a528d1b4c7e9a440b1c2d3e4f5";
  const observe = async (tags: object, wanted: boolean) => {
    const filters: unknown[] = [];
    const { read } = account({
      "elbv2:DescribeLoadBalancers": () => ({
        LoadBalancers: [{ LoadBalancerName: NAME, LoadBalancerArn: "arn:1", VpcId: "vpc-victim" }],
      }),
      "elbv2:DescribeTags": () => ({
        TagDescriptions: [
          { ResourceArn: "arn:1", Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })) },
        ],
      }),
      "elbv2:DescribeTargetGroups": () => ({ TargetGroups: [] }),
      "elbv2:DescribeLoadBalancerAttributes": () => ({ Attributes: [] }),
      "elbv2:DescribeListeners": () => ({ Listeners: [] }),
      "elb:DescribeLoadBalancers": () => ({ LoadBalancerDescriptions: [] }),
      "ec2:DescribeSubnets": () => ({ Subnets: [] }),
      "ec2:DescribeRouteTables": () => ({ RouteTables: [] }),
      "ec2:DescribeSecurityGroups": ({ Filters }) => {
        filters.push(Filters);
        return { SecurityGroups: [] };
      },
    });
    const service = { metadata: { namespace: "default", name: "web", uid: UID } };
    const observing = {
      cluster: { provider: "aws", region: "eu-central-1", clusterTag: "demo" },
      read,
      zoneTypes: { of: async () => ok(new Map()) },
      nodeGroups: createNodeGroupProofs(() => 0),
      lists: createBalancerLists(() => 0),
      now: () => 0,
    } as unknown as Parameters<typeof observeLoadBalancers>[1];
    const [answer] = await observeLoadBalancers([{ service, wanted, nodes: [] }], observing);
    const state = answer?.kind === "observed" ? (answer.state as AwsLoadBalancerState) : undefined;
    return { filters, vpc: state?.vpc.id };
  };
  const BY_TAG = { Name: "tag-key", Values: ["kubernetes.io/cluster/demo", "KubernetesCluster"] };

  test.each([
    ["another cluster's, that is to go", THEIRS, false],
    ["another cluster's, that is wanted", THEIRS, true],
    ["without an owner, for a deletion", {}, false],
    ["shared with us, that is to go", { "kubernetes.io/cluster/demo": "shared" }, false],
  ])("does not determine the VPC: %s", async (_, tags, wanted) => {
    expect(await observe(tags, wanted)).toEqual({ filters: [[BY_TAG]], vpc: "" });
  });

  test("determines its VPC if it carries the cluster's tag", async () => {
    const inVpc = [[{ Name: "vpc-id", Values: ["vpc-victim"] }]];
    expect(await observe(OURS, false)).toEqual({ filters: inVpc, vpc: "vpc-victim" });
  });
});
