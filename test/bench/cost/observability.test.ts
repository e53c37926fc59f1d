import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import {
  CLOUD_WATCH_ALARMS,
  CLOUD_WATCH_METRICS,
  computeObserving,
  SERIES_PER_CLUSTER,
  SERIES_PER_CLUSTER_OF_FLEET,
} from "#bench/cost/observability.ts";
import { withMetric } from "#functions/parts/sweep-function.ts";
import { METRICS_BY_CLUSTER } from "#relay/report/fleet-metrics.ts";
import { buildPrices } from "#test/bench/cost/builders.ts";
import { answerWell, recordSeries } from "#test/infra/monitoring/record-series.ts";
import { TAINTED } from "#test/relay/fake-functions.ts";

const read = (path: string): Promise<string> =>
  readFile(new URL(`../../../${path}`, import.meta.url), "utf8");

describe("the cost of logs and metrics", () => {
  // 87,600 samples a month of each series: 730 h × 120.
  test.each([
    ["within the first tier", 1, (SERIES_PER_CLUSTER * 87_600 * 2) / 1e7],
    ["beyond it", 1_000, (1e9 * 2 + (1_000 * SERIES_PER_CLUSTER * 87_600 - 1e9) * 1) / 1e7],
  ])("%s equals the computation by hand", (_, clusters, samplesUsd) => {
    const { metrics, ...logs } = computeObserving(clusters, 7, buildPrices());
    expect(logs).toEqual({ functionLogsUsd: 7, relayLogsUsd: 7 });
    expect(metrics?.samplesUsd).toBeCloseTo(samplesUsd, 6);
    expect(metrics?.cloudWatchUsd).toBeCloseTo(4 * 0.5 + 6 * 0.2, 6);
    const once = SERIES_PER_CLUSTER - SERIES_PER_CLUSTER_OF_FLEET;
    expect(metrics?.fleet.series).toBe(once + clusters * SERIES_PER_CLUSTER_OF_FLEET);
    expect(metrics?.fleet.samplesUsd).toBeLessThanOrEqual(metrics?.samplesUsd ?? 0);
  });

  test("is that of logs only without prices of metrics", () => {
    expect(computeObserving(1, 7, { ...buildPrices(), metrics: undefined })).toEqual({
      functionLogsUsd: 7,
      relayLogsUsd: 7,
    });
  });
});

describe("the counted metrics are the existing ones", () => {
  test("series of a cluster", async () => {
    let last = "";
    await recordSeries(
      ({ nodes, functions }) => {
        functions.behave(answerWell);
        nodes.put("new", TAINTED);
      },
      {},
      (text) => {
        last = text;
      },
    );
    const series = last.split("\n").filter((line) => !line.startsWith("#") && line.includes('cluster="one"'));
    expect(series).toHaveLength(SERIES_PER_CLUSTER);
    const ofFleet = series.filter((line) => METRICS_BY_CLUSTER.has(line.split("{", 1)[0] ?? ""));
    expect(ofFleet).toHaveLength(SERIES_PER_CLUSTER_OF_FLEET);
  });

  test("metrics of CloudWatch", () => {
    const line = { event: "SweepFinished", overdue: 0, orphans: 1 };
    const { _aws } = withMetric(line, 0, "serverless-ccm-prod-") as unknown as {
      readonly _aws: { readonly CloudWatchMetrics: readonly { readonly Dimensions: readonly string[][] }[] };
    };
    const ofAll = _aws.CloudWatchMetrics.flatMap(({ Dimensions }) =>
      Dimensions.filter((dimensions) => !dimensions.includes("cluster")),
    );
    expect(ofAll).toHaveLength(CLOUD_WATCH_METRICS);
  });

  test("alarms of CloudWatch", async () => {
    const files = await Promise.all(["serverless.yml", "infra/monitoring/cloudwatch-alarms.yaml"].map(read));
    expect(files.join("\n").match(/Type: AWS::CloudWatch::Alarm$/gm)).toHaveLength(CLOUD_WATCH_ALARMS);
  });
});
