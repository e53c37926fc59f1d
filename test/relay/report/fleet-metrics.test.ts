import { readFile } from "node:fs/promises";
import type { MetricObjectWithValues, MetricValue } from "prom-client";
import { describe, expect, test } from "vitest";
import { createFleetMetrics, METRICS_BY_CLUSTER } from "#relay/report/fleet-metrics.ts";
import { createRelayMetrics, type RelayMetrics } from "#relay/report/metrics.ts";
import type { RelayNote } from "#relay/report/relay-note.ts";

type Metrics = MetricObjectWithValues<MetricValue<string>>[];

const delay = (cluster: string, seconds: number): RelayNote =>
  ({
    kind: "delay",
    cluster,
    metric: "node_controller_cloud_provider_taint_removal_delay_seconds",
    seconds,
  }) as RelayNote;
const left = (cluster: string, lines: number): RelayNote =>
  ({ kind: "log-left-out", cluster, lines, durationMs: 1, flows: true }) as RelayNote;
const LEFT_OUT = "serverless_ccm_log_lines_left_out_total";
const COUNT = "node_controller_cloud_provider_taint_removal_delay_seconds_count";

/** Returns the value of a series as scraped. */
async function scraped(metrics: { text(): Promise<string> }, series: string): Promise<number | undefined> {
  const line = (await metrics.text()).split("\n").find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.split(" ").at(-1));
}

function clusters(count: number): { readonly metrics: RelayMetrics; readonly names: readonly string[] } {
  const metrics = createRelayMetrics();
  const names = Array.from({ length: count }, (_, index) => `tenant-${index}`);
  for (const name of names) {
    metrics.observe(delay(name, 1));
    metrics.observe(left(name, 2));
    metrics.observe({ kind: "lease", cluster: name, outcome: "renewed", isNews: false } as RelayNote);
  }
  return { metrics, names };
}

describe("metrics of a fleet", () => {
  test("are sums over clusters without the label, including histograms", async () => {
    const fleet = createFleetMetrics(clusters(10).metrics);
    expect(await scraped(fleet, LEFT_OUT)).toBe(20);
    expect(await scraped(fleet, COUNT)).toBe(10);
    expect(
      await scraped(fleet, 'serverless_ccm_lease_renewals_total{cluster="tenant-3",outcome="renewed"}'),
    ).toBe(1);
    expect(await fleet.text()).not.toMatch(/left_out_total\{cluster/);
  });

  test("have few series for each cluster if the others have many", async () => {
    const seriesOf = async (count: number, isFleet: boolean): Promise<number> => {
      const { metrics } = clusters(count);
      const text = await (isFleet ? createFleetMetrics(metrics) : metrics).text();
      return text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length;
    };
    const perCluster = (await seriesOf(60, false)) - (await seriesOf(50, false));
    const perClusterOfFleet = (await seriesOf(60, true)) - (await seriesOf(50, true));
    expect(perCluster).toBe(10 * 18);
    expect(perClusterOfFleet).toBe(10);
  });

  test("never fall when a cluster is removed, returns, or restarts its counter", async () => {
    const { metrics, names } = clusters(3);
    const fleet = createFleetMetrics(metrics);
    expect(await scraped(fleet, LEFT_OUT)).toBe(6);
    await metrics.forget(names[0] ?? "");
    expect(await scraped(fleet, LEFT_OUT)).toBe(6);
    metrics.observe(left(names[0] ?? "", 5));
    expect(await scraped(fleet, LEFT_OUT)).toBe(11);
    for (const name of names) await metrics.forget(name);
    expect(await scraped(fleet, LEFT_OUT)).toBe(11);
    expect(await scraped(fleet, COUNT)).toBe(3);
    metrics.observe(left("another", 1));
    metrics.observe(left(names[0] ?? "", 6));
    expect(await scraped(fleet, LEFT_OUT)).toBe(18);
  });

  test("are equal for two scrapers", async () => {
    const fleet = createFleetMetrics(clusters(3).metrics);
    expect(await fleet.text()).toBe(await fleet.text());
  });

  test("sum gauges again each time", async () => {
    let values: readonly [string, number][] = [
      ["a", 3],
      ["b", 4],
    ];
    const gauge = (): Metrics =>
      [
        {
          ...{ name: "serverless_ccm_objects", type: "gauge", help: "Objects.", aggregator: "sum" },
          values: values.map(([cluster, value]) => ({ labels: { cluster, controller: "c" }, value })),
        },
      ] as unknown as Metrics;
    const fleet = createFleetMetrics({ contentType: "text/plain", values: async () => gauge() });
    expect(await scraped(fleet, 'serverless_ccm_objects{controller="c"}')).toBe(7);
    values = [["b", 4]];
    expect(await scraped(fleet, 'serverless_ccm_objects{controller="c"}')).toBe(4);
  });

  test("stay separate by cluster if an alert reads them by cluster", async () => {
    const alerts = await readFile(new URL("../../../infra/monitoring/alerts.yaml", import.meta.url), "utf8");
    const read = [...alerts.matchAll(/\bby \(cluster[^)]*\)\s*\(([^{[]*)/g)].flatMap(
      ([, inner = ""]) => inner.match(/serverless_ccm_\w+/g) ?? [],
    );
    const others = [...alerts.matchAll(/serverless_ccm_\w+/g)].map(([name]) => name);
    const definitions = createRelayMetrics().definitions;
    const ofClusters = new Set(
      definitions.filter(({ labelNames }) => labelNames.includes("cluster")).map(({ name }) => name),
    );
    expect(read.length).toBeGreaterThan(5);
    expect(
      [...read, ...others].filter((name) => ofClusters.has(name) && !METRICS_BY_CLUSTER.has(name)),
    ).toEqual([]);
  });
});
