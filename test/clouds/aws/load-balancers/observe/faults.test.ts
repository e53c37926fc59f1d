import { expect, test } from "vitest";
import type { Api } from "#clouds/aws/actions/api.ts";
import { createBudget } from "#clouds/aws/budget.ts";
import { createLoadBalancers } from "#clouds/aws/load-balancers/capability.ts";
import { formatLoadBalancerName } from "#clouds/aws/load-balancers/names.ts";
import type { AwsRead } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { Observation } from "#core/capability.ts";
import { LOAD_BALANCER_ANNOTATION } from "#core/contracts.ts";
import { checkCall } from "#test/aws-models/aws-calls.ts";
import { buildConfig, buildInstance, createAwsError, VPC } from "#test/clouds/aws/ec2-world.ts";
import { buildQuestion } from "#test/clouds/aws/load-balancers/moto-world.ts";

type Answers = Partial<Record<AwsRead, (request: Record<string, unknown>) => object>>;

const UIDS = ["a", "b", "c", "d", "e", "f"].map((letter) => letter.repeat(8));
const [FIRST = "", SECOND = "", THIRD = ""] = UIDS;
const arnOf = (uid: string): string => `arn:${formatLoadBalancerName(uid)}`;
const balancerOf = (uid: string) => ({
  LoadBalancerName: formatLoadBalancerName(uid),
  LoadBalancerArn: arnOf(uid),
  VpcId: VPC,
});
const TAG = { Key: "kubernetes.io/cluster/demo", Value: "owned" };
const tagsOf = (arns: unknown): object => ({
  TagDescriptions: (arns as string[]).map((ResourceArn) => ({ ResourceArn, Tags: [TAG] })),
});

/** An account in which each Service of `UIDS` has a network load balancer and nothing else. */
const ALL_THERE: Required<Answers> = {
  "ec2:DescribeInstances": () => ({ Reservations: [{ Instances: [buildInstance(1)] }] }),
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
    if (names !== undefined) throw createAwsError("AccessPointNotFoundException", 400);
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

/** Observes in an account with these answers. */
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
      checkCall(operation, "request", request);
      const found = answer(request as Record<string, unknown>);
      checkCall(operation, "answer", found);
      return found;
    },
    close() {},
  };
  const clock = { ms: 0 };
  const world = {
    cluster: { ...buildConfig(), clusterName: "demo" },
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

/** Returns the result of each Service: its load balancers, or the error. */
function outcomesOf({ answers }: Asked): string[] {
  return answers.map((answer) => {
    if (answer.kind === "error") return answer.code;
    return "network" in (answer.state as object) ? "there" : "none";
  });
}

const THREE = [FIRST, SECOND, THIRD].map((uid) => buildQuestion(uid));
const throttle = (): never => {
  throw createAwsError("ThrottlingException", 400);
};

test.each<[string, Answers, readonly string[]]>([
  [
    "one load balancer's listeners are throttled: only its answer is an error",
    {
      "elbv2:DescribeListeners": ({ LoadBalancerArn: arn }) =>
        arn === arnOf(SECOND) ? throttle() : { Listeners: [] },
    },
    ["there", "Throttled", "there"],
  ],
  [
    "one load balancer's attributes are invalid: only its answer is an error",
    {
      "elbv2:DescribeLoadBalancerAttributes": ({ LoadBalancerArn: arn }) =>
        arn === arnOf(SECOND) ? {} : { Attributes: [] },
    },
    ["there", "Unavailable", "there"],
  ],
  [
    "one load balancer is deleted before its tags are read: it counts as missing",
    {
      "elbv2:DescribeTags"({ ResourceArns: arns }) {
        if ((arns as string[]).includes(arnOf(SECOND)))
          throw createAwsError("LoadBalancerNotFoundException", 400);
        return tagsOf(arns);
      },
    },
    ["there", "none", "there"],
  ],
  [
    "one load balancer is deleted after its tags were read: it counts as missing",
    {
      "elbv2:DescribeListeners"({ LoadBalancerArn: arn }) {
        if (arn === arnOf(SECOND)) throw createAwsError("LoadBalancerNotFoundException", 400);
        return { Listeners: [] };
      },
    },
    ["there", "none", "there"],
  ],
  [
    "one load balancer's tags are missing in the answer: only its answer is an error",
    {
      "elbv2:DescribeTags": ({ ResourceArns: arns }) =>
        tagsOf((arns as string[]).filter((arn) => arn !== arnOf(SECOND))),
    },
    ["there", "Unavailable", "there"],
  ],
  [
    "load balancers cannot be listed: all answers are errors",
    {
      "elbv2:DescribeLoadBalancers": () => {
        throw createAwsError("InternalFailure", 500);
      },
    },
    ["Unavailable", "Unavailable", "Unavailable"],
  ],
  [
    "the list of load balancers is invalid: all answers are errors",
    { "elbv2:DescribeLoadBalancers": () => ({}) },
    ["Unavailable", "Unavailable", "Unavailable"],
  ],
  [
    "target groups cannot be listed: all answers are errors",
    { "elbv2:DescribeTargetGroups": throttle },
    ["Throttled", "Throttled", "Throttled"],
  ],
  [
    "the list of target groups is invalid: all answers are errors",
    { "elbv2:DescribeTargetGroups": () => ({}) },
    ["Unavailable", "Unavailable", "Unavailable"],
  ],
  [
    "classic load balancers are denied: all answers are errors",
    {
      "elb:DescribeLoadBalancers": () => {
        throw createAwsError("AccessDenied", 403);
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
  "%s that cannot be read do not concern a Service that loses its load balancer",
  async (_, answers, code) => {
    const questions = [
      buildQuestion(FIRST, { instances: ["i-1"] }),
      buildQuestion(SECOND, { wanted: false }),
    ];
    expect(outcomesOf(await observed(answers, questions))).toEqual([code, "there"]);
  },
);

test.each<[string, Answers, string]>([
  ["is found if it exists", {}, "there"],
  [
    "counts as missing if AWS reports it as not found",
    {
      "elbv2:DescribeLoadBalancers": () => {
        throw createAwsError("LoadBalancerNotFoundException", 400);
      },
    },
    "none",
  ],
  [
    "is an error if AWS fails",
    {
      "elbv2:DescribeLoadBalancers": () => {
        throw createAwsError("InternalFailure", 500);
      },
    },
    "Unavailable",
  ],
  ["is an error if the answer is not a list", { "elbv2:DescribeLoadBalancers": () => ({}) }, "Unavailable"],
])("a single load balancer that is read by name %s", async (_, answers, expected) => {
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
  expect(names[0]).toEqual([formatLoadBalancerName(FIRST)]);
});

test("for a Service without earlier work all load balancers are listed, and a later count reuses the list", async () => {
  const { answers, calls } = await observed({}, [buildQuestion(FIRST)]);
  expect(outcomesOf({ answers, calls })).toEqual(["there"]);
  expect([calls["elbv2:DescribeLoadBalancers"], calls["elb:DescribeLoadBalancers"]]).toEqual([1, 1]);
});

/** Builds a question about a Service with our annotation. */
function begunQuestion(uid: string): object {
  const { service, ...rest } = buildQuestion(uid);
  const annotations = { [LOAD_BALANCER_ANNOTATION]: "{}" };
  return { ...rest, service: { ...service, metadata: { ...service.metadata, annotations } } };
}

test("an invalid uid costs no call, and does not affect other Services", async () => {
  const strange = await observed({}, [buildQuestion("../*")]);
  expect(outcomesOf(strange)).toEqual(["Invalid"]);
  expect(outcomesOf(await observed({}, [buildQuestion("../*"), buildQuestion(FIRST)]))).toEqual([
    "Invalid",
    "there",
  ]);
});

test("many names are searched in the complete list, page by page", async () => {
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
    UIDS.map((uid) => buildQuestion(uid)),
  );
  expect(outcomesOf(asked)).toEqual(["there", "none", "there", "none", "none", "none"]);
  expect(pages).toEqual([
    [undefined, 400],
    ["2", 400],
  ]);
});

test('pages without end do not count as "not found"', async () => {
  const answers: Answers = {
    "elb:DescribeLoadBalancers": () => ({ LoadBalancerDescriptions: [], NextMarker: "more" }),
  };
  const asked = await observed(
    answers,
    UIDS.map((uid) => buildQuestion(uid)),
  );
  expect(new Set(outcomesOf(asked))).toEqual(new Set(["Unavailable"]));
  expect(asked.calls["elb:DescribeLoadBalancers"]).toBeLessThanOrEqual(40);
});

test.each<[string, Answers, string]>([
  [
    "are denied",
    {
      "ec2:DescribeNetworkInterfaces": () => ({ NetworkInterfaces: [] }),
      "ec2:DescribeAddresses": () => {
        throw createAwsError("UnauthorizedOperation", 403);
      },
    },
    "Denied",
  ],
  ["are not a list", { "ec2:DescribeAddresses": () => ({}) }, "Unavailable"],
])("Elastic IP addresses that %s do not concern a Service that names none", async (_, answers, code) => {
  const { service, ...rest } = buildQuestion(SECOND);
  const annotations = { "service.beta.kubernetes.io/aws-load-balancer-eip-allocations": "eipalloc-1" };
  const naming = { ...rest, service: { metadata: { ...service.metadata, annotations } } };
  expect(outcomesOf(await observed(answers, [buildQuestion(FIRST), naming]))).toEqual(["there", code]);
});

test("after the deadline no call is sent", async () => {
  const asked = await observed({}, THREE, AbortSignal.abort());
  expect(outcomesOf(asked)).toEqual(["Aborted", "Aborted", "Aborted"]);
  expect(asked.calls).toEqual({});
});

test("if the quota is too small for all, some Services are observed completely and the rest is throttled", async () => {
  const uids = Array.from({ length: 100 }, (_, number) => `${number}`.padStart(8, "0"));
  const answers: Answers = {
    "elbv2:DescribeLoadBalancers": () => ({ LoadBalancers: uids.map(balancerOf) }),
  };
  const asked = await observed(
    answers,
    uids.map((uid) => buildQuestion(uid)),
  );
  const outcomes = outcomesOf(asked);
  const seen = outcomes.filter((outcome) => outcome === "there").length;
  // 40 at once, and the refill of 5 s; each Service takes two calls of its own.
  expect(seen).toBeGreaterThanOrEqual(15);
  expect(new Set(outcomes)).toEqual(new Set(["there", "Throttled"]));
  // Each started observation was completed: hardly a call was spent on a Service without a result.
  const spent =
    (asked.calls["elbv2:DescribeListeners"] ?? 0) +
    (asked.calls["elbv2:DescribeLoadBalancerAttributes"] ?? 0);
  expect(spent - seen * 2).toBe(0);
});
