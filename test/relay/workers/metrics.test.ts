import { Gauge, Histogram, Registry } from "prom-client";
import { describe, expect, test, vi } from "vitest";
import { createRelayMetrics, type RelayMetrics } from "#relay/report/metrics.ts";
import { createMetricsRequester } from "#relay/workers/member.ts";
import type { Metrics, ToWorker } from "#relay/workers/messages.ts";
import { createWorkerMetrics, mergeMetrics } from "#relay/workers/metrics.ts";

/** Creates a worker's metrics after this many lists of some clusters. */
function counted(lists: Readonly<Record<string, number>>): RelayMetrics {
  const metrics = createRelayMetrics();
  for (const [cluster, times] of Object.entries(lists)) {
    for (let time = 0; time < times; time += 1) {
      const note = { kind: "listed", cause: "start", objects: 1, durationMs: 1, restarted: false } as const;
      metrics.observe({ cluster, resource: "nodes", kind: "watch", note });
    }
  }
  return metrics;
}

const linesOf = (text: string, name: string): string[] =>
  text.split("\n").filter((line) => line.startsWith(name));

describe("metrics of several workers", () => {
  test("are merged, each name once", async () => {
    const workers = [counted({ blue: 1, green: 2 }), counted({ red: 3 })];
    const own = createRelayMetrics();
    const text = await mergeMetrics(
      [await own.values()],
      await Promise.all(workers.map((worker) => worker.values())),
    );
    expect(linesOf(text, "serverless_ccm_lists_total")).toEqual([
      'serverless_ccm_lists_total{cluster="blue",resource="nodes",cause="start"} 1',
      'serverless_ccm_lists_total{cluster="green",resource="nodes",cause="start"} 2',
      'serverless_ccm_lists_total{cluster="red",resource="nodes",cause="start"} 3',
    ]);
    expect(linesOf(text, "# TYPE serverless_ccm_lists_total")).toHaveLength(1);
  });

  test("come from the main thread if they are gauges or describe the process", async () => {
    const registry = new Registry();
    const registers = [registry];
    const gauge = new Gauge({ name: "build_info", help: "One.", registers });
    const histogram = new Histogram({ name: "nodejs_gc", help: "One.", buckets: [1], registers });
    gauge.set(1);
    histogram.observe(0.5);
    const values = await registry.getMetricsAsJSON();
    const text = await mergeMetrics([values], [values, values]);
    expect([linesOf(text, "build_info"), linesOf(text, "nodejs_gc_count")]).toEqual([
      ["build_info 1"],
      ["nodejs_gc_count 1"],
    ]);
  });

  test("are summed if they are histograms", async () => {
    const registry = new Registry();
    const histogram = new Histogram({ name: "delay", help: "One.", buckets: [1, 2], registers: [registry] });
    histogram.observe(1.5);
    const values = structuredClone(await registry.getMetricsAsJSON());
    const text = await mergeMetrics([], [values, values]);
    expect(linesOf(text, "delay")).toEqual([
      'delay_bucket{le="1"} 0',
      'delay_bucket{le="2"} 2',
      'delay_bucket{le="+Inf"} 2',
      "delay_sum 3",
      "delay_count 2",
    ]);
  });
});

test("a pool reports its number of workers, its quarantined clusters, and why workers ended", async () => {
  const metrics = createWorkerMetrics();
  metrics.follow(() => ({
    workers: 3,
    quarantined: new Map([
      ["red", true],
      ["blue", false],
    ]),
  }));
  metrics.died("memory");
  metrics.died("memory");
  metrics.died("unresponsive");
  const text = await metrics.text();
  for (const line of [
    "serverless_ccm_workers 3",
    'serverless_ccm_cluster_quarantined{cluster="red"} 1',
    'serverless_ccm_cluster_quarantined{cluster="blue"} 0',
    'serverless_ccm_worker_restarts_total{reason="memory"} 2',
    'serverless_ccm_worker_restarts_total{reason="unresponsive"} 1',
  ])
    expect(text.split("\n")).toContain(line);
});

describe("a request for a worker's metrics", () => {
  const some = (name: string): Metrics => [{ name } as Metrics[number]];

  test("is sent once for several scrapes, and does not delay them for ever", async () => {
    vi.useFakeTimers();
    try {
      const sent: ToWorker[] = [];
      const answers = createMetricsRequester((message) => void sent.push(message));
      const [one, other] = [answers.ask(), answers.ask()];
      expect(sent).toEqual([{ kind: "ask-metrics", id: 1 }]);
      answers.receive(1, some("first"));
      expect(await Promise.all([one, other])).toEqual([some("first"), some("first")]);
      const late = answers.ask();
      await vi.advanceTimersByTimeAsync(1_500);
      expect(await late).toEqual(some("first"));
      // A late answer is what is known the next time.
      answers.receive(2, some("second"));
      const next = answers.ask();
      await vi.advanceTimersByTimeAsync(1_500);
      expect(await next).toEqual(some("second"));
    } finally {
      vi.useRealTimers();
    }
  });

  test("ends when the worker has died", async () => {
    const answers = createMetricsRequester(() => {});
    const asked = answers.ask();
    answers.close();
    expect(await asked).toEqual([]);
  });
});
