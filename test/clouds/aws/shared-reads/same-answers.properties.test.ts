import type { Instance as Ec2Instance } from "@aws-sdk/client-ec2";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Ec2 } from "#clouds/aws/ec2.ts";
import { createSharingLoader } from "#clouds/aws/shared-reads/sharing-loader.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import {
  ACCOUNT,
  buildConfig,
  buildInstance,
  createAwsError,
  Ec2World,
  VPC,
} from "#test/clouds/aws/ec2-world.ts";
import { tagsOf } from "#test/clouds/aws/shared-reads/held-ec2.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { SEED } from "#test/seed.ts";

const RUNS = Number(process.env["SHARED_READS_HISTORIES"] ?? 500);
const CLUSTERS = ["a", "b", "c"] as const;
const MACHINES = 6;

/** How a machine looks in EC2; some ids have none. */
const MACHINE = fc.record({
  exists: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  owners: fc.subarray([...CLUSTERS, "others"]),
  hasVpc: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  state: fc.constantFrom("running", "running", "pending", "stopped", "shutting-down", "terminated"),
  isBroken: fc.oneof(
    { weight: 9, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
});

/** A batch of a cluster. */
const QUESTION = fc.record({
  cluster: fc.constantFrom(...CLUSTERS),
  nodes: fc.array(fc.record({ machine: fc.nat(MACHINES - 1), isAnnotated: fc.boolean() }), {
    minLength: 1,
    maxLength: 5,
  }),
  control: fc.boolean(),
  isAborted: fc.oneof(
    { weight: 5, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
});

/** How each shared call ends, in turn. */
const FATE = fc.oneof(
  { weight: 5, arbitrary: fc.constant(undefined) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      createAwsError("RequestLimitExceeded", 503),
      createAwsError("InternalError", 500),
      createAwsError("UnauthorizedOperation", 403),
    ),
  },
);

type Machine = typeof MACHINE extends fc.Arbitrary<infer Value> ? Value : never;
type Question = typeof QUESTION extends fc.Arbitrary<infer Value> ? Value : never;

function createWorld(machines: readonly Machine[]): Ec2World {
  const world = new Ec2World();
  for (const [index, { exists, owners, hasVpc, state, isBroken }] of machines.entries())
    if (exists)
      world.instances.push(
        buildInstance(index + 1, {
          State: { Name: state } as Ec2Instance["State"],
          Tags: tagsOf(...owners),
          ...(hasVpc ? {} : { VpcId: undefined as never }),
          ...(isBroken ? { Placement: undefined as never } : {}),
        }),
      );
  return world;
}

function buildNodes({ nodes }: Question) {
  return nodes.map(({ machine, isAnnotated }, index) => {
    const id = buildInstance(machine + 1).InstanceId;
    return buildNode({
      name: `node-${index}`,
      providerID: `aws:///eu-central-1a/${id}`,
      ...(isAnnotated ? { annotations: { [INSTANCE_ANNOTATION]: `${ACCOUNT}/${VPC}/${id}` } } : {}),
    });
  });
}

/** Vpc alone, tag alone, and both: the three ways in which a cluster knows its instances. */
const CONFIGS = {
  a: { clusterTag: "a" },
  b: { clusterTag: "b", vpc: undefined },
  c: { clusterTag: undefined },
} as const;

test("clusters that read together get exactly the answers that they get alone", async () => {
  let sharedCalls = 0;
  let batches = 0;
  const property = fc.asyncProperty(
    fc.array(MACHINE, { minLength: MACHINES, maxLength: MACHINES }),
    fc.array(QUESTION, { minLength: 1, maxLength: 12 }),
    fc.array(FATE, { maxLength: 6 }),
    fc.scheduler(),
    async (machines, questions, fates, scheduler) => {
      const alone: (readonly InstanceAnswer[])[] = [];
      for (const question of questions) {
        const cloud = createWorld(machines).cloud(CONFIGS[question.cluster], {
          clusterName: question.cluster,
        });
        const call = buildCall({ control: question.control });
        alone.push((await cloud.instances(buildNodes(question), call)).answers);
      }
      const world = createWorld(machines);
      const left = [...fates];
      const sharedEc2: Ec2 = {
        ...world,
        close: () => {},
        describeInstances: async (request, signal) => {
          sharedCalls += 1;
          const [filter, ...others] = request.Filters ?? [];
          expect([filter?.Name, others]).toEqual(["instance-id", []]);
          await scheduler.schedule(Promise.resolve());
          const fate = left.shift();
          if (fate !== undefined) throw fate;
          return world.describeInstances(request, signal);
        },
      };
      const load = createSharingLoader({
        ec2: world,
        sharedEc2,
        now: () => world.nowMs,
        wallClock: () => Date.parse("2026-01-01T00:01:00Z"),
        sleep: async (delayMs) => {
          world.nowMs += delayMs;
        },
      });
      const clouds = Object.fromEntries(
        CLUSTERS.map((name) => [name, load(buildConfig(CONFIGS[name]), { clusterName: name })]),
      );
      const results = questions.map(async (question) => {
        await scheduler.schedule(Promise.resolve());
        const abort = new AbortController();
        if (question.isAborted) void scheduler.schedule(Promise.resolve()).then(() => abort.abort());
        const call = buildCall({ control: question.control, signal: abort.signal });
        batches += 1;
        return clouds[question.cluster]?.instances(buildNodes(question), call);
      });
      await scheduler.waitFor(Promise.all(results));
      const hasFaults = fates.some((fate) => fate !== undefined);
      for (const [index, result] of (await Promise.all(results)).entries()) {
        const isExact = !questions[index]?.isAborted && !hasFaults;
        if (isExact) expect(result?.answers).toEqual(alone[index]);
        else
          for (const [at, answer] of (result?.answers ?? []).entries())
            if (!isFailure(answer)) expect(withoutProbe(answer)).toEqual(withoutProbe(alone[index]?.[at]));
      }
      await Promise.all(Object.values(clouds).map((cloud) => cloud.close()));
    },
  );
  await fc.assert(property, { seed: SEED, numRuns: RUNS });
  // The clusters do read together.
  expect(sharedCalls).toBeLessThan(batches);
});

/** What a fault of a call and an abort may make of an answer. */
function isFailure(answer: InstanceAnswer): boolean {
  return answer.kind === "error" && ["Throttled", "Unavailable", "Aborted"].includes(answer.code);
}

/** A batch in which a look-up failed finds its visibility probe elsewhere, or none. */
function withoutProbe(answer: InstanceAnswer | undefined) {
  return answer?.kind === "not-found" ? { ...answer, control: undefined } : answer;
}
