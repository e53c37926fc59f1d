import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { createSweepDependencies, createSweepFunction, withMetric } from "#functions/parts/sweep-function.ts";
import { lambda } from "#platforms/lambda/platform.ts";
import type { DispatchDependencies } from "#sweep/dispatch.ts";
import type { SweepLine } from "#sweep/payload.ts";
import { createSweepTurns } from "#sweep/sweep-cluster.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { expectLogLines } from "#test/log-lines.ts";
import { TAINTED } from "#test/relay/fake-functions.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { createSweptWorld } from "#test/sweep/sweep-builders.ts";

const { openDeployment } = lambda;

const context = { awsRequestId: "request-1", getRemainingTimeInMillis: () => 120_000 };

function given() {
  const clock = createManualClock();
  const swept = createSweptWorld();
  const lines: SweepLine[] = [];
  const world: DispatchDependencies = {
    clusters: async () => [swept.cluster],
    handOn: async () => {},
    api: async () => swept.transport,
    invoker: { invoke: async (event) => ({ kind: "report", report: buildReport(event) }) },
    turns: createSweepTurns(clock),
    ...{ clock, random: () => 0.5, identity: "test", log: (line: SweepLine) => lines.push(line) },
  };
  return { world, swept, lines };
}

describe("the sweep as a function", () => {
  test("says the gap as a metric of CloudWatch's, in the line of the log", async () => {
    const { world, swept, lines } = given();
    swept.nodes.put("a", { ...TAINTED, metadata: { creationTimestamp: "2025-12-31T00:00:00Z" } });
    expect(await createSweepFunction(world)({}, context)).toMatchObject({ clusters: 1, overdue: 1 });
    expectLogLines(lines);
    expect(lines).toMatchObject([
      {
        ...{ event: "SweepFinished", cluster: "one", mode: "full", lease: "missing", overdue: 1 },
        _aws: {
          Timestamp: Date.parse("2026-01-01T00:00:00Z"),
          CloudWatchMetrics: [
            {
              Namespace: "serverless-ccm",
              Dimensions: [[], ["cluster"]],
              Metrics: [{ Name: "overdue", Unit: "Count" }],
            },
          ],
        },
      },
    ]);
  });

  test("names the deployment if two are in one region", async () => {
    const { world, lines } = given();
    await createSweepFunction({ ...world, functionPrefix: "serverless-ccm-canary-" })({}, context);
    expectLogLines(lines);
    expect(lines).toMatchObject([{ event: "SweepFinished", functionPrefix: "serverless-ccm-canary-" }]);
  });

  test.each([[null], ["sweep"], [{ shard: {} }], [{ source: "aws.ec2" }]])(
    "refuses %j with words, and does nothing",
    async (payload) => {
      const { world, swept, lines } = given();
      await expect(createSweepFunction(world)(payload, context)).rejects.toThrow(
        /the sweep takes .* nothing was done/,
      );
      expect(lines).toMatchObject([{ level: "error", event: "InvocationFailed", requestId: "request-1" }]);
      expect(swept.requests).toEqual([]);
      expectLogLines(lines);
    },
  );

  test("does nothing after its time is up, and says so", async () => {
    const { world, swept } = given();
    const over = { ...context, getRemainingTimeInMillis: () => 500 };
    expect(await createSweepFunction(world)({}, over)).toMatchObject({ clusters: 1, unfinished: 1 });
    expect(swept.requests).toEqual([]);
  });
});

test.each([
  ["one that is well, over all clusters alone", { cluster: "a", overdue: 0 }, [[]]],
  ["one with a gap, by cluster too", { cluster: "a", overdue: 2 }, [[], ["cluster"]]],
  ["that of many, over all clusters alone", { clusters: 25, overdue: 0 }, [[]]],
])("the metric of %s", (_, facts, dimensions) => {
  const line = withMetric({ level: "info", event: "SweepFinished", ...facts }, 0);
  expect(line).toMatchObject({ _aws: { CloudWatchMetrics: [{ Dimensions: dimensions }] } });
});

test("orphaned load balancers are a metric of their cluster, where there are some", () => {
  const line = (orphans: number) =>
    withMetric({ level: "warn", event: "SweepFinished", cluster: "a", overdue: 0, orphans }, 0);
  const overdue = { Dimensions: [[]], Metrics: [{ Name: "overdue" }] };
  const found = { Dimensions: [[], ["cluster"]], Metrics: [{ Name: "orphans" }] };
  expect(line(2)).toMatchObject({ orphans: 2, _aws: { CloudWatchMetrics: [overdue, found] } });
  expect(line(0)).toMatchObject({ _aws: { CloudWatchMetrics: [overdue] } });
});

test.each([
  ["all is well", { cluster: "a", overdue: 0 }, [[], ["functionPrefix"]], undefined],
  [
    "there are a gap and orphans",
    { cluster: "a", overdue: 2, orphans: 1 },
    [[], ["functionPrefix"], ["cluster"], ["functionPrefix", "cluster"]],
    [[], ["cluster"], ["functionPrefix"], ["functionPrefix", "cluster"]],
  ],
])("metrics are those of the deployment, and as before of all, where %s", (_, facts, gap, orphaned) => {
  const line = withMetric({ level: "info", event: "SweepFinished", ...facts }, 0, "serverless-ccm-prod-");
  expect(line).toMatchObject({ ...facts, functionPrefix: "serverless-ccm-prod-" });
  const { _aws } = line as unknown as {
    readonly _aws: { readonly CloudWatchMetrics: readonly { readonly Dimensions: readonly string[][] }[] };
  };
  const sets = _aws.CloudWatchMetrics.map(({ Dimensions }) => Dimensions.map((set) => set.join()).toSorted());
  expect(sets).toEqual(
    [gap, orphaned].flatMap((each) => (each === undefined ? [] : [each.map((set) => set.join()).toSorted()])),
  );
});

test("a line of something else is no metric", () => {
  const line = { level: "error", event: "SweepNotDone", clusters: 3 };
  expect(withMetric(line, 0)).toBe(line);
});

describe("what a deployed sweep touches", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "sweep-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("is the clusters of the file that CLUSTERS_FILE names, faulty entries left out", async () => {
    const file = join(folder, "clusters.yaml");
    const cloud = { provider: "memory", instancesFile: "/none" };
    const entries = ["a", "b"].map((name) => ({ name, server: "https://127.0.0.1", cloud }));
    await writeClustersFile(file, ...entries, { name: "faulty" });
    const clusters = await createSweepDependencies({ CLUSTERS_FILE: file }, openDeployment).clusters();
    expect(clusters.map(({ name }) => name)).toEqual(["a", "b"]);
  });

  test.each([
    ["serverless-ccm-prod-sweep", "serverless-ccm-prod-"],
    ["renamed", undefined],
    ["sweep", undefined],
    [undefined, undefined],
  ])("says of its metrics that they are the deployment's, by its own name %s", (name, functionPrefix) => {
    expect(createSweepDependencies({ AWS_LAMBDA_FUNCTION_NAME: name }, openDeployment).functionPrefix).toBe(
      functionPrefix,
    );
  });

  test("is empty if the variable is not set or the file is missing", async () => {
    await expect(createSweepDependencies({}, openDeployment).clusters()).rejects.toThrow(
      "CLUSTERS_FILE is not set",
    );
    await expect(
      createSweepDependencies({ CLUSTERS_FILE: join(folder, "none") }, openDeployment).clusters(),
    ).rejects.toThrow("none");
  });
});
