import { expect, test } from "vitest";
import type { Api } from "#clouds/aws/actions/api.ts";
import { createBudget } from "#clouds/aws/budget.ts";
import { createLoadBalancers } from "#clouds/aws/load-balancers/capability.ts";
import { loadBalancerNameOf } from "#clouds/aws/load-balancers/load-balancer-name.ts";
import type { AwsRead } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { Observation } from "#core/capability.ts";
import { LOAD_BALANCER_ANNOTATION } from "#core/contracts.ts";
import { aConfig, anInstance, awsError, VPC } from "#test/clouds/aws/ec2-world.ts";
import { aQuestion } from "#test/clouds/aws/load-balancers/moto-world.ts";

type Answers = Partial<Record<AwsRead, (request: Record<string, unknown>) => object>>;

const UIDS = ["a", "b", "c", "d", "e", "f"].map((letter) => letter.repeat(8));
const [FIRST = "", SECOND = "", THIRD = ""] = UIDS;
const arnOf = (uid: string): string => `arn:${loadBalancerNameOf(uid)}`;
const balancerOf = (uid: string) => ({
  LoadBalancerName: loadBalancerNameOf(uid),
  LoadBalancerArn: arnOf(uid),
  VpcId: VPC,
});
const TAG = { Key: "kubernetes.io/cluster/demo", Value: "owned" };
const tagsOf = (arns: unknown): object => ({
  TagDescriptions: (arns as string[]).map((ResourceArn) => ({ ResourceArn, Tags: [TAG] })),
});

/** An account in which each Service of `UIDS` has a network load balancer and nothing else. */
const ALL_THERE: Required<Answers> = {
  "ec2:DescribeInstances": () => ({ Reservations: [{ Instances: [anInstance(1)] }] }),
  "ec2:DescribeSubnets": () => ({ Subnets: [] }),
  "ec2:DescribeRouteTables": () => ({ RouteTables: [] }),
  "ec2:DescribeSecurityGroups": () => ({ SecurityGroups: [] }),
  "ec2:DescribeNetworkInterfaces": () => ({ NetworkInterfaces: [] }),
  "ec2:DescribeAddresses": () => ({ Addresses: [] }),
  "ec2:DescribeAvailabilityZones": () => ({ AvailabilityZones: [] }),
  "elbv2:DescribeLoadBalancers": ({ Names: names }) => ({
    LoadBalancers: UIDS.map(balancerOf).filter(
      ({ LoadBalancerName: name = "" }) => !Array.isArray(names) || names.includes(name),
    ),
  }),
  "elbv2:DescribeLoadBalancerAttributes": () => ({ Attributes: [] }),
  "elbv2:DescribeListeners": () => ({ Listeners: [] }),
  "elbv2:DescribeTags": ({ ResourceArns: arns }) => tagsOf(arns),
  "elbv2:DescribeTargetGroups": () => ({ TargetGroups: [] }),
  "elbv2:DescribeTargetGroupAttributes": () => ({ Attributes: [] }),
  "elbv2:DescribeTargetHealth": () => ({ TargetHealthDescriptions: [] }),
  "elb:DescribeLoadBalancers": ({ LoadBalancerNames: names }) => {
    if (names !== undefined) throw awsError("AccessPointNotFoundException", 400);
    return { LoadBalancerDescriptions: [] };
  },
  "elb:DescribeLoadBalancerAttributes": () => ({ LoadBalancerAttributes: {} }),
  "elb:DescribeLoadBalancerPolicies": () => ({ PolicyDescriptions: [] }),
  "elb:DescribeTags": () => ({ TagDescriptions: [] }),
};

interface Asked {
  readonly answers: readonly Observation[];
  readonly calls: Readonly<Record<string, number>>;
}

/** Observes in an account that answers so. */
async function observed(
  answers: Answers,
  questions: readonly object[],
  signal = new AbortController().signal,
): Promise<Asked> {
  const table: Answers = { ...ALL_THERE, ...answers };
  const api: Api = {
    async call(operation, request) {
      const answer = table[operation as AwsRead];
      if (answer === undefined) throw new Error(`not expected: ${operation}`);
      return answer(request as Record<string, unknown>);
    },
    close() {},
  };
  const clock = { ms: 0 };
  const world = {
    cluster: { ...aConfig(), clusterName: "demo" },
    budget: createBudget(() => clock.ms),
    sleep: async (delayMs: number) => {
      clock.ms += delayMs;
    },
    now: () => clock.ms,
    wallClock: () => clock.ms,
    credentials: () => undefined,
  };
  const { answers: found, usage } = await createLoadBalancers(world, api).observe(questions, {
    signal,
    share: 1,
  });
  return { answers: found, calls: usage.calls };
}

/** What came of each Service: which load balancers it has, or the error. */
function outcomesOf({ answers }: Asked): string[] {
  return answers.map((answer) => {
    if (answer.kind === "error") return answer.code;
    return "network" in (answer.state as object) ? "there" : "none";
  });
}

const THREE = [FIRST, SECOND, THIRD].map((uid) => aQuestion(uid));
const throttle = (): never => {
  throw awsError("ThrottlingException", 400);
};

test.each<[string, Answers, readonly string[]]>([
  [
    "one Service's listeners cannot be had",
    {
      "elbv2:DescribeListeners": ({ LoadBalancerArn: arn }) =>
        arn === arnOf(SECOND) ? throttle() : { Listeners: [] },
    },
    ["there", "Throttled", "there"],
  ],
  [
    "one Service's attributes are not what they are to be",
    {
      "elbv2:DescribeLoadBalancerAttributes": ({ LoadBalancerArn: arn }) =>
        arn === arnOf(SECOND) ? {} : { Attributes: [] },
    },
    ["there", "Unavailable", "there"],
  ],
  [
    "one load balancer goes before its tags are asked for",
    {
      "elbv2:DescribeTags"({ ResourceArns: arns }) {
        if ((arns as string[]).includes(arnOf(SECOND))) throw awsError("LoadBalancerNotFoundException", 400);
        return tagsOf(arns);
      },
    },
    ["there", "none", "there"],
  ],
  [
    "one load balancer goes after its tags were asked for",
    {
      "elbv2:DescribeListeners"({ LoadBalancerArn: arn }) {
        if (arn === arnOf(SECOND)) throw awsError("LoadBalancerNotFoundException", 400);
        return { Listeners: [] };
      },
    },
    ["there", "none", "there"],
  ],
  [
    "nothing is said of one load balancer's tags",
    {
      "elbv2:DescribeTags": ({ ResourceArns: arns }) =>
        tagsOf((arns as string[]).filter((arn) => arn !== arnOf(SECOND))),
    },
    ["there", "Unavailable", "there"],
  ],
  [
    "load balancers cannot be listed",
    {
      "elbv2:DescribeLoadBalancers": () => {
        throw awsError("InternalFailure", 500);
      },
    },
    ["Unavailable", "Unavailable", "Unavailable"],
  ],
  [
    "load balancers are no list, as a proxy's page is none",
    { "elbv2:DescribeLoadBalancers": () => ({}) },
    ["Unavailable", "Unavailable", "Unavailable"],
  ],
  [
    "target groups cannot be listed",
    { "elbv2:DescribeTargetGroups": throttle },
    ["Throttled", "Throttled", "Throttled"],
  ],
  [
    "target groups are no list",
    { "elbv2:DescribeTargetGroups": () => ({}) },
    ["Unavailable", "Unavailable", "Unavailable"],
  ],
  [
    "the other kind of load balancer may not be looked at",
    {
      "elb:DescribeLoadBalancers": () => {
        throw awsError("AccessDenied", 403);
      },
    },
    ["Denied", "Denied", "Denied"],
  ],
])("%s", async (_, answers, expected) => {
  expect(outcomesOf(await observed(answers, THREE))).toEqual(expected);
});

test.each<[string, Answers, string]>([
  ["instances", { "ec2:DescribeInstances": throttle }, "Throttled"],
  ["subnets", { "ec2:DescribeSubnets": throttle }, "Throttled"],
  ["route tables", { "ec2:DescribeRouteTables": () => ({}) }, "Unavailable"],
])(
  "%s that cannot be had are nothing to a Service that loses its load balancer",
  async (_, answers, code) => {
    const questions = [aQuestion(FIRST, { instances: ["i-1"] }), aQuestion(SECOND, { wanted: false })];
    expect(outcomesOf(await observed(answers, questions))).toEqual([code, "there"]);
  },
);

test.each<[string, Answers, string]>([
  ["is found", {}, "there"],
  [
    "is not there, by AWS's own word",
    {
      "elbv2:DescribeLoadBalancers": () => {
        throw awsError("LoadBalancerNotFoundException", 400);
      },
    },
    "none",
  ],
  [
    "cannot be looked up",
    {
      "elbv2:DescribeLoadBalancers": () => {
        throw awsError("InternalFailure", 500);
      },
    },
    "Unavailable",
  ],
  ["is answered with no list", { "elbv2:DescribeLoadBalancers": () => ({}) }, "Unavailable"],
])("one name alone %s", async (_, answers, expected) => {
  const names: unknown[] = [];
  const asked = await observed(
    {
      "elbv2:DescribeLoadBalancers"(request) {
        names.push(request["Names"]);
        return { ...ALL_THERE, ...answers }["elbv2:DescribeLoadBalancers"](request);
      },
    },
    [begunQuestion(FIRST)],
  );
  expect(outcomesOf(asked)).toEqual([expected]);
  expect(names[0]).toEqual([loadBalancerNameOf(FIRST)]);
});

test("of a Service that nobody has begun with, all are listed, which a count reads after it", async () => {
  const { answers, calls } = await observed({}, [aQuestion(FIRST)]);
  expect(outcomesOf({ answers, calls })).toEqual(["there"]);
  expect([calls["elbv2:DescribeLoadBalancers"], calls["elb:DescribeLoadBalancers"]]).toEqual([1, 1]);
});

/** A question about a Service with our annotation. */
function begunQuestion(uid: string): object {
  const { service, ...rest } = aQuestion(uid);
  const annotations = { [LOAD_BALANCER_ANNOTATION]: "{}" };
  return { ...rest, service: { ...service, metadata: { ...service.metadata, annotations } } };
}

test("a uid of which no load balancer can be called costs no call, and nobody else anything", async () => {
  const strange = await observed({}, [aQuestion("../*")]);
  expect(outcomesOf(strange)).toEqual(["Invalid"]);
  expect(outcomesOf(await observed({}, [aQuestion("../*"), aQuestion(FIRST)]))).toEqual(["Invalid", "there"]);
});

test("many names are looked for among all there are, page by page", async () => {
  const pages: unknown[] = [];
  const answers: Answers = {
    "elbv2:DescribeLoadBalancers"({ Names: names, Marker: marker, PageSize: size }) {
      expect(names).toBeUndefined();
      pages.push([marker, size]);
      if (marker === undefined) return { LoadBalancers: [balancerOf(FIRST)], NextMarker: "2" };
      return { LoadBalancers: [balancerOf(THIRD)] };
    },
  };
  const asked = await observed(
    answers,
    UIDS.map((uid) => aQuestion(uid)),
  );
  expect(outcomesOf(asked)).toEqual(["there", "none", "there", "none", "none", "none"]);
  expect(pages).toEqual([
    [undefined, 400],
    ["2", 400],
  ]);
});

test("pages without an end are no word that there is nothing", async () => {
  const answers: Answers = {
    "elb:DescribeLoadBalancers": () => ({ LoadBalancerDescriptions: [], NextMarker: "more" }),
  };
  const asked = await observed(
    answers,
    UIDS.map((uid) => aQuestion(uid)),
  );
  expect(new Set(outcomesOf(asked))).toEqual(new Set(["Unavailable"]));
  expect(asked.calls["elb:DescribeLoadBalancers"]).toBeLessThanOrEqual(40);
});

test.each<[string, Answers, string]>([
  [
    "are not to be seen",
    {
      "ec2:DescribeNetworkInterfaces": () => ({ NetworkInterfaces: [] }),
      "ec2:DescribeAddresses": () => {
        throw awsError("UnauthorizedOperation", 403);
      },
    },
    "Denied",
  ],
  ["are no list", { "ec2:DescribeAddresses": () => ({}) }, "Unavailable"],
])("Elastic IP addresses that %s are nothing to a Service that names none", async (_, answers, code) => {
  const { service, ...rest } = aQuestion(SECOND);
  const annotations = { "service.beta.kubernetes.io/aws-load-balancer-eip-allocations": "eipalloc-1" };
  const naming = { ...rest, service: { metadata: { ...service.metadata, annotations } } };
  expect(outcomesOf(await observed(answers, [aQuestion(FIRST), naming]))).toEqual(["there", code]);
});

test("once the time is up nothing is asked", async () => {
  const asked = await observed({}, THREE, AbortSignal.abort());
  expect(outcomesOf(asked)).toEqual(["Aborted", "Aborted", "Aborted"]);
  expect(asked.calls).toEqual({});
});

test("where the quota does not last for all, it lasts for some: they are seen whole, and the rest is throttled", async () => {
  const uids = Array.from({ length: 100 }, (_, number) => `${number}`.padStart(8, "0"));
  const answers: Answers = {
    "elbv2:DescribeLoadBalancers": () => ({ LoadBalancers: uids.map(balancerOf) }),
  };
  const asked = await observed(
    answers,
    uids.map((uid) => aQuestion(uid)),
  );
  const outcomes = outcomesOf(asked);
  const seen = outcomes.filter((outcome) => outcome === "there").length;
  // 40 at once, and what comes in 5 s; each Service takes two calls of its own.
  expect(seen).toBeGreaterThanOrEqual(15);
  expect(new Set(outcomes)).toEqual(new Set(["there", "Throttled"]));
  // What was begun was brought to its end: hardly a call was spent on a Service that came to nothing.
  const spent =
    (asked.calls["elbv2:DescribeListeners"] ?? 0) +
    (asked.calls["elbv2:DescribeLoadBalancerAttributes"] ?? 0);
  expect(spent - seen * 2).toBe(0);
});
