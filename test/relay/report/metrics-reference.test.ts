import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createProcessMetrics, DELAY_BUCKETS } from "#relay/report/metric.ts";
import { createRelayMetrics, type RelayMetrics } from "#relay/report/metrics.ts";
import { createShardMetrics } from "#relay/sharding/shard-metrics.ts";
import { createWorkerMetrics } from "#relay/workers/metrics.ts";

const reference = await readFile(new URL("../../../docs/reference/metrics.md", import.meta.url), "utf8");

function createWhole(): RelayMetrics {
  const metrics = createRelayMetrics();
  metrics.followPlatform(() => undefined);
  metrics.followSweep(() => new Map());
  metrics.followLimiter(() => ({ waiting: 0, slowedClusters: [], platformOpen: false, functions: {} }));
  metrics.followHome(() => false);
  metrics.followFallback(() => []);
  return metrics;
}

const createOfShard = () =>
  createShardMetrics(() => ({ self: "a", replicas: ["a", "b"], isCutOff: false, own: 2, all: 5 }));

const rowsOf = (heading: string): readonly string[] =>
  reference
    .split("\n## ")
    .find((section) => section.startsWith(heading))
    ?.split("\n")
    .filter((line) => line.startsWith("| `")) ?? [];

test.each([
  ["Clusters", createWhole],
  ["Workers", createWorkerMetrics],
  ["Replicas", createOfShard],
])(
  "the reference lists every metric of %s with its type, labels and help, and no other",
  (heading, create) => {
    const expected = create().definitions.map(({ name, type, help, labelNames }) => {
      const labels = labelNames.map((label) => `\`${label}\``).join(", ") || "–";
      return `| \`${name}\` | ${type} | ${labels} | ${help} |`;
    });
    expect(rowsOf(heading)).toEqual(expected);
  },
);

test.each([
  ["clusters", createWhole],
  ["workers", createWorkerMetrics],
  ["replicas", createOfShard],
])("every defined metric of %s is served", async (_, create) => {
  const metrics = create();
  const served = [...(await metrics.text()).matchAll(/^# HELP (\w+) (.+)\n# TYPE \1 (\w+)$/gm)];
  expect(served.map(([, name, help, type]) => ({ name, help, type }))).toEqual(
    metrics.definitions.map(({ name, help, type }) => ({ name, help, type })),
  );
});

test("a shard's metrics show which replica it is, of how many, and its part", async () => {
  const lines = (await createOfShard().text()).split("\n").filter((line) => !line.startsWith("#"));
  expect(lines.filter((line) => line !== "")).toEqual([
    'serverless_ccm_replica_info{replica="a"} 1',
    "serverless_ccm_replicas 2",
    "serverless_ccm_replica_cut_off 0",
    "serverless_ccm_shard_clusters 2",
    "serverless_ccm_home_clusters 5",
  ]);
});

test("the reference lists the buckets", () => {
  expect(reference).toContain(`Buckets: ${DELAY_BUCKETS.join(", ")} seconds`);
});

test("the reference lists the metrics of the process, as far as this platform has them", async () => {
  const text = await createProcessMetrics("1.2.3").text();
  const rows = [...text.matchAll(/^# HELP (\w+) (.+)\n# TYPE \1 (\w+)$/gm)].map(
    ([, name, help, type]) => `| \`${name}\` | ${type} | ${help} |`,
  );
  expect(rows.filter((row) => !rowsOf("The process").includes(row))).toEqual([]);
  expect(text).toContain(`serverless_ccm_build_info{version="1.2.3",node="${process.version}"} 1`);
  const ofRelay = await createProcessMetrics("1.2.3", "serverless-ccm-prod-").text();
  expect(ofRelay).toContain(
    `serverless_ccm_build_info{version="1.2.3",node="${process.version}",function_prefix="serverless-ccm-prod-"} 1`,
  );
});
