import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createBudget } from "#clouds/aws/budget.ts";
import { AWS_QUOTAS } from "#clouds/aws/quotas.ts";
import { createSession } from "#clouds/aws/session.ts";
import { createSharedReads } from "#clouds/aws/shared-reads/shared-reads.ts";
import { buildInstance, createAwsError, Ec2World, VPC } from "#test/clouds/aws/ec2-world.ts";
import { buildClaimingNode, createHeldFleet, tagsOf } from "#test/clouds/aws/shared-reads/held-ec2.ts";
import { buildCall } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";

/** A world in which the machines 1 to 9 belong to cluster `a`, and 10 to 19 to cluster `b`. */
function createWorld(): Ec2World {
  const world = new Ec2World();
  for (let number = 1; number < 20; number += 1)
    world.instances.push(buildInstance(number, { Tags: tagsOf(number < 10 ? "a" : "b") }));
  return world;
}

const idOf = (number: number): string => `i-${number.toString(16).padStart(17, "0")}`;
const nodes = (...numbers: readonly number[]) => numbers.map((number) => buildClaimingNode(idOf(number)));

/** Occupies all calls, so that later look-ups wait. */
async function occupy(fleet: ReturnType<typeof createHeldFleet>) {
  const cloud = fleet.cloud("a");
  const answers: Promise<unknown>[] = [];
  for (const number of [1, 2, 3, 4]) {
    answers.push(cloud.instances(nodes(number), buildCall()));
    await nextTurn();
  }
  expect(fleet.calls).toHaveLength(4);
  return { cloud, answers };
}

test("a look-up goes at once while no other is in progress", async () => {
  const fleet = createHeldFleet(createWorld());
  const answer = fleet.cloud("a").instances(nodes(1, 2), buildCall());
  await nextTurn();
  expect(fleet.calls.map(({ ids }) => ids)).toEqual([[idOf(1), idOf(2)]]);
  fleet.calls[0]?.answer();
  const { answers, usage } = await answer;
  expect(answers.map(formatAnswer)).toEqual([idOf(1), idOf(2)]);
  expect(usage.calls).toEqual({ DescribeInstances: 1, DescribeAvailabilityZones: 1 });
});

test("look-ups of several clusters go together once four calls are in flight, and one batch is charged", async () => {
  const fleet = createHeldFleet(createWorld());
  await occupy(fleet);
  const waiting = [
    fleet.cloud("a").instances(nodes(5, 6), buildCall()),
    fleet.cloud("b").instances(nodes(11), buildCall()),
    fleet.cloud("b").instances(nodes(12), buildCall()),
  ];
  await nextTurn();
  expect(fleet.calls).toHaveLength(4);
  fleet.calls[0]?.answer();
  await nextTurn();
  expect(fleet.calls.slice(4).map(({ ids }) => ids)).toEqual([[idOf(5), idOf(6), idOf(11), idOf(12)]]);
  fleet.calls[4]?.answer();
  const results = await Promise.all(waiting);
  expect(results.map(({ answers }) => answers.map(formatAnswer))).toEqual([
    [idOf(5), idOf(6)],
    [idOf(11)],
    [idOf(12)],
  ]);
  expect(results.map(({ usage }) => usage.calls["DescribeInstances"] ?? 0)).toEqual([1, 0, 0]);
});

test("an id that two clusters name is requested once, and each gets its own answer", async () => {
  const fleet = createHeldFleet(createWorld());
  await occupy(fleet);
  const [a, b] = [fleet.cloud("a"), fleet.cloud("b")].map((cloud) => cloud.instances(nodes(5), buildCall()));
  await nextTurn();
  fleet.calls[0]?.answer();
  await nextTurn();
  expect(fleet.calls[4]?.ids).toEqual([idOf(5)]);
  fleet.calls[4]?.answer();
  expect((await a)?.answers.map(formatAnswer)).toEqual([idOf(5)]);
  expect((await b)?.answers).toEqual(
    (await fleet.world.cloud({ clusterTag: "b" }, { clusterName: "b" }).instances(nodes(5), buildCall()))
      .answers,
  );
});

test("while no token is free, look-ups gather and go together", async () => {
  const fleet = createHeldFleet(createWorld());
  // The bucket of shared calls holds half of the account's 100.
  const cloud = fleet.cloud("a");
  for (let call = 0; call < 50; call += 1) {
    const answer = cloud.instances(nodes(1), buildCall());
    await nextTurn();
    fleet.calls[call]?.answer();
    await answer;
  }
  expect(fleet.world.nowMs).toBe(0);
  const waiting = [
    cloud.instances(nodes(2), buildCall()),
    fleet.cloud("b").instances(nodes(11), buildCall()),
  ];
  await nextTurn();
  expect(fleet.world.nowMs).toBe(100);
  expect(fleet.calls.slice(50).map(({ ids }) => ids)).toEqual([[idOf(2), idOf(11)]]);
  fleet.calls[50]?.answer();
  const results = await Promise.all(waiting);
  expect(results.map(({ usage }) => usage.waitedMs)).toEqual([100, 0]);
});

describe("a batch that is aborted", () => {
  test("ends at once as aborted, and the call goes on for the others", async () => {
    const fleet = createHeldFleet(createWorld());
    await occupy(fleet);
    const abort = new AbortController();
    const aborted = fleet.cloud("a").instances(nodes(5), buildCall({ signal: abort.signal }));
    const other = fleet.cloud("b").instances(nodes(11), buildCall());
    await nextTurn();
    fleet.calls[0]?.answer();
    await nextTurn();
    abort.abort();
    expect((await aborted).answers).toEqual([
      { kind: "error", code: "Aborted", message: "DescribeInstances: aborted before AWS answered" },
    ]);
    expect(fleet.calls[4]?.signal.aborted).toBe(false);
    fleet.calls[4]?.answer();
    expect((await other).answers.map(formatAnswer)).toEqual([idOf(11)]);
  });

  test("aborts the call if it was the last that waited for it", async () => {
    const fleet = createHeldFleet(createWorld());
    const abort = new AbortController();
    const aborted = fleet.cloud("a").instances(nodes(5), buildCall({ signal: abort.signal }));
    await nextTurn();
    abort.abort();
    expect((await aborted).answers.map(formatAnswer)).toEqual(["Aborted"]);
    expect(fleet.calls[0]?.signal.aborted).toBe(true);
    const next = fleet.cloud("b").instances(nodes(11), buildCall());
    await nextTurn();
    fleet.calls[1]?.answer();
    expect((await next).answers.map(formatAnswer)).toEqual([idOf(11)]);
  });

  test("before its call leaves nothing of it in the call", async () => {
    const fleet = createHeldFleet(createWorld());
    await occupy(fleet);
    const abort = new AbortController();
    const aborted = fleet.cloud("a").instances(nodes(5), buildCall({ signal: abort.signal }));
    const other = fleet.cloud("b").instances(nodes(11), buildCall());
    await nextTurn();
    abort.abort();
    expect((await aborted).answers.map(formatAnswer)).toEqual(["Aborted"]);
    fleet.calls[0]?.answer();
    await nextTurn();
    expect(fleet.calls[4]?.ids).toEqual([idOf(11)]);
    fleet.calls[4]?.answer();
    expect((await other).answers.map(formatAnswer)).toEqual([idOf(11)]);
  });

  test("before it begins sends nothing", async () => {
    const fleet = createHeldFleet(createWorld());
    const call = buildCall({ signal: AbortSignal.abort() });
    const { answers } = await fleet.cloud("a").instances(nodes(5), call);
    expect(answers.map(formatAnswer)).toEqual(["Aborted"]);
    expect(fleet.calls).toEqual([]);
  });
});

test("a cluster that is alone makes its own calls, within the whole quota", async () => {
  const fleet = createHeldFleet(createWorld(), false);
  const { answers } = await fleet.cloud("a").instances(nodes(5), buildCall());
  expect(answers.map(formatAnswer)).toEqual([idOf(5)]);
  expect([fleet.calls, fleet.world.count("DescribeInstances")]).toEqual([[], 1]);
});

describe("a cloud that is closed", () => {
  test("while it waits ends its look-ups as aborted, and leaves others alone", async () => {
    const fleet = createHeldFleet(createWorld());
    await occupy(fleet);
    const [closed, open] = [fleet.cloud("a"), fleet.cloud("b")];
    const [aborted, other] = [
      closed.instances(nodes(5), buildCall()),
      open.instances(nodes(11), buildCall()),
    ];
    await nextTurn();
    await closed.close();
    expect((await aborted).answers.map(formatAnswer)).toEqual(["Aborted"]);
    fleet.calls[0]?.answer();
    await nextTurn();
    expect(fleet.calls[4]?.ids).toEqual([idOf(11)]);
    fleet.calls[4]?.answer();
    expect((await other).answers.map(formatAnswer)).toEqual([idOf(11)]);
    expect(fleet.isClosed()).toBe(false);
  });

  test("closes the shared client if it is the last, once and for all", async () => {
    const fleet = createHeldFleet(createWorld(), false);
    const [a, b] = [fleet.cloud("a"), fleet.cloud("b")];
    await a.close();
    await a.close();
    expect(fleet.isClosed()).toBe(false);
    await b.close();
    expect(fleet.isClosed()).toBe(true);
  });
});

describe("a shared call that fails", () => {
  /** Lets two clusters wait for one call, and ends that call. */
  async function failOne(error: Error, attempts = 1) {
    const fleet = createHeldFleet(createWorld());
    const both = [
      fleet.cloud("a").instances(nodes(1), buildCall()),
      fleet.cloud("b").instances(nodes(11), buildCall()),
    ];
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      await nextTurn();
      fleet.calls[attempt]?.fail(error);
    }
    const results = await Promise.all(both);
    return { fleet, results, answers: results.map((result) => result.answers[0]) };
  }

  test.each([
    ["RequestLimitExceeded", 503, 1, "Throttled"],
    ["InternalError", 500, 2, "Unavailable"],
  ] as const)("by %s fails each look-up as its own call would", async (name, status, attempts, code) => {
    const error = createAwsError(name, status);
    const { answers, results } = await failOne(error, attempts);
    const world = createWorld();
    world.errors.set("DescribeInstances", error);
    const alone = (await world.cloud().instances(nodes(1), buildCall())).answers[0];
    expect(alone).toMatchObject({ kind: "error", code });
    expect(answers).toEqual([alone, alone]);
    const throttled = results.map(({ usage }) => usage.throttled);
    expect(throttled).toEqual(code === "Throttled" ? [1, 0] : [0, 0]);
  });

  test.each([
    ["EC2 denies the operation", createAwsError("UnauthorizedOperation", 403)],
    ["STS denies the session", createAwsError("AccessDenied", 403)],
    ["STS rejects the session's policy", createAwsError("MalformedPolicyDocument", 400)],
  ])("because %s leaves each cluster to its own calls, for ten minutes", async (_, error) => {
    const { fleet, answers } = await failOne(error);
    expect(answers.map((each) => each && formatAnswer(each))).toEqual([idOf(1), idOf(11)]);
    const cloud = fleet.cloud("a");
    await cloud.instances(nodes(2), buildCall());
    expect(fleet.calls).toHaveLength(1);
    fleet.world.nowMs += 600_001;
    const answer = cloud.instances(nodes(2), buildCall());
    await nextTurn();
    expect(fleet.calls).toHaveLength(2);
    fleet.calls[1]?.answer();
    expect((await answer).answers.map(formatAnswer)).toEqual([idOf(2)]);
  });
});

describe("a shared call that EC2 answers with", () => {
  async function answerOne(result: object) {
    const fleet = createHeldFleet(createWorld());
    const both = [
      fleet.cloud("a").instances(nodes(1), buildCall()),
      fleet.cloud("b").instances(nodes(11), buildCall()),
    ];
    await nextTurn();
    fleet.calls[0]?.answer(result);
    const results = await Promise.all(both);
    expect(fleet.calls).toHaveLength(1);
    return results.flatMap(({ answers }) => answers.map(formatAnswer));
  }

  const reserve = (...instances: readonly object[]) => ({
    Reservations: [{ OwnerId: "123456789012", Instances: instances }],
  });

  test.each([
    ["no list", {}, ["Unavailable", "Unavailable"]],
    ["an empty list", { Reservations: [] }, ["not-found", "not-found"]],
    ["instances that no node names", reserve(buildInstance(7), buildInstance(8)), ["not-found", "not-found"]],
    [
      "an instance without an id",
      reserve(buildInstance(1, { Tags: tagsOf("a") }), { State: { Name: "running" } }),
      [idOf(1), "Unavailable"],
    ],
    [
      "one instance twice",
      reserve(buildInstance(1, { Tags: tagsOf("a") }), buildInstance(1, { Tags: tagsOf("a") })),
      [idOf(1), "not-found"],
    ],
    ["an instance without any field", reserve({ InstanceId: idOf(1) }), ["Foreign", "not-found"]],
  ])("%s", async (_, result, answers) => {
    expect(await answerOne(result)).toEqual(answers);
  });
});

describe("of the waits", () => {
  test("a cluster with more than a thousand ids is refused, and no other cluster", async () => {
    const fleet = createHeldFleet(createWorld());
    await occupy(fleet);
    const flood = fleet.cloud("a");
    const many = Array.from({ length: 1_000 }, (_, index) => buildClaimingNode(`i-${index + 10_000_000}`));
    const abort = new AbortController();
    const accepted = flood.instances(many, buildCall({ signal: abort.signal }));
    const refused = await flood.instances(nodes(5), buildCall());
    expect(refused.answers.map(formatAnswer)).toEqual(["Throttled"]);
    const other = fleet.cloud("b").instances(nodes(11), buildCall());
    await nextTurn();
    fleet.calls[0]?.answer();
    await nextTurn();
    // Half of the call, and then all others.
    expect(fleet.calls[4]?.ids).toHaveLength(101);
    fleet.calls[4]?.answer();
    expect((await other).answers.map(formatAnswer)).toEqual([idOf(11)]);
    abort.abort();
    await accepted;
  });

  test("a look-up that waits for longer than ten seconds is throttled", async () => {
    const fleet = createHeldFleet(createWorld());
    await occupy(fleet);
    const late = fleet.cloud("b").instances(nodes(11), buildCall());
    await nextTurn();
    fleet.world.nowMs += 10_001;
    fleet.calls[0]?.answer();
    expect((await late).answers).toEqual([
      {
        kind: "error",
        code: "Throttled",
        message: "DescribeInstances: too many look-ups of the account wait for its quota",
      },
    ]);
  });
});

test("a look-up that comes right after the last waiting one was aborted gets a call of its own", async () => {
  const world = createWorld();
  const sleeping: (() => void)[] = [];
  const { ec2, budget, now } = {
    ec2: world,
    now: () => world.nowMs,
    budget: createBudget(() => world.nowMs, {
      ...AWS_QUOTAS,
      DescribeInstances: { burst: 1, refillPerSecond: 1 },
    }),
  };
  const sleep = (_: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      sleeping.push(resolve);
      signal.addEventListener("abort", () => resolve());
    });
  const reader = createSharedReads({ ec2, budget, sleep, now }).join();
  const look = (number: number, signal: AbortSignal) => {
    const { readById, end } = reader.begin({ share: 1 });
    const session = createSession({ ec2, budget, sleep, signal });
    const ids = new Map(nodes(number).map((node) => [node, idOf(number)]));
    return readById(ids, session, { vpc: VPC, clusterTag: "a" }).finally(end);
  };
  const never = new AbortController().signal;
  await look(1, never);
  const abort = new AbortController();
  const aborted = look(2, abort.signal);
  await nextTurn();
  abort.abort();
  const next = look(3, never);
  await aborted;
  await nextTurn();
  world.nowMs += 1_000;
  for (const wake of sleeping) wake();
  expect([...(await next).values()]).toMatchObject([{ kind: "instance", found: { id: idOf(3) } }]);
});
