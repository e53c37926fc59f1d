import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import type { ObjectReport } from "#core/report.ts";
import { routeWatch } from "#core/route/watch.ts";
import { serviceWatch } from "#core/service/watch.ts";
import type { Invocation } from "#platforms/invoker.ts";
import { deliver } from "#relay/delivery/deliver.ts";
import { addStockMetrics } from "#relay/report/stock-metrics.ts";
import type { ReadyObject } from "#relay/work/types.ts";
import { buildReport } from "#test/relay/report-builders.ts";

const cluster = Cluster.parse({
  name: "one",
  server: "https://fake.invalid",
  cloud: { provider: "memory", instancesFile: "/none" },
});

/** Why an object was sent, since when, and its result. */
interface Sent {
  readonly look?: ReadyObject["resyncReason"];
  readonly sinceMs: number;
  readonly said?: Partial<ObjectReport>;
}

/** Returns the metrics after these invocations, each of which ends at 10 s. */
async function metricsAfter(
  controller: string,
  ...batches: readonly (readonly [
    reason: "watch" | "refresh" | "retry",
    sent: readonly Sent[],
    failed?: Invocation,
  ])[]
) {
  const registry = new Registry();
  const observe = addStockMetrics([registry], (definition) => definition);
  for (const [reason, sent, failed] of batches) {
    const objects = sent.map(({ look, sinceMs }, index): ReadyObject => {
      const identity = { name: `o${index}`, uid: `u${index}` };
      const metadata = { ...identity, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
      const ready = { ...identity, namespace: undefined, snapshot: { metadata }, again: false, sinceMs };
      return { ...ready, hint: undefined, ...(look === undefined ? {} : { resyncReason: look }) };
    });
    const facts = {
      id: "event-1",
      cluster,
      clusterHash: cluster.hash,
      controller,
      reason,
      related: undefined,
    };
    const delivery = await deliver(
      {
        invoke: async (event) =>
          failed ?? { kind: "report", report: buildReport(event, (index) => sent[index]?.said ?? {}) },
      },
      { ...facts, busy: false },
      objects,
      new AbortController().signal,
    );
    observe({ cluster: "one", controller, delivery, endedMs: 10_000 });
  }
  return (await registry.metrics()).split("\n");
}

const retry = { outcome: "retry", because: { code: "Throttled", message: "" }, afterSeconds: 3 } as const;

test("load balancers that are resynced because nodes changed are counted and timed, and no others", async () => {
  const lines = await metricsAfter(
    serviceWatch.name,
    [
      "watch",
      [
        { look: "watch", sinceMs: 9_500 },
        { look: "watch", sinceMs: 7_000, said: retry },
      ],
    ],
    ["watch", [{ sinceMs: 0 }]],
    ["refresh", [{ look: "refresh", sinceMs: 0 }]],
  );
  expect(lines).toEqual(
    expect.arrayContaining([
      'service_controller_loadbalancer_sync_total{cluster="one"} 2',
      'service_controller_nodesync_error_total{cluster="one"} 1',
      'service_controller_nodesync_latency_seconds_bucket{le="2",cluster="one"} 0',
      'service_controller_nodesync_latency_seconds_bucket{le="4",cluster="one"} 1',
      'service_controller_nodesync_latency_seconds_bucket{le="16384",cluster="one"} 1',
      'service_controller_nodesync_latency_seconds_sum{cluster="one"} 3',
      'service_controller_update_loadbalancer_host_latency_seconds_bucket{le="1",cluster="one"} 1',
      'service_controller_update_loadbalancer_host_latency_seconds_count{cluster="one"} 2',
    ]),
  );
});

test("a failed invocation counts its load balancer as an error, and a refused one does not count", async () => {
  const sent = [{ look: "watch", sinceMs: 9_000 }] as const;
  const failed = { kind: "failed", code: "FunctionError", message: "", settleMs: 0 } as const;
  const lines = await metricsAfter(
    serviceWatch.name,
    ["watch", sent, failed],
    ["watch", sent, { ...failed, code: "Throttled" }],
  );
  expect(lines).toContain('service_controller_nodesync_error_total{cluster="one"} 1');
});

test("comparisons of routes are counted by their cause and by whether anything changed", async () => {
  const changed = { outcome: "changed" } as const;
  const deleted = { ...retry, because: { code: "RoutesDeleted", message: "" } };
  const lines = await metricsAfter(
    routeWatch.name,
    ["watch", [{ look: "watch", sinceMs: 9_000, said: changed }]],
    ["watch", [{ look: "watch", sinceMs: 9_000, said: deleted }]],
    ["watch", [{ look: "watch", sinceMs: 9_000 }]],
    ["refresh", [{ look: "refresh", sinceMs: 9_000 }]],
    ["refresh", [{ look: "refresh", sinceMs: 9_000, said: retry }]],
  );
  const name = "route_controller_route_sync_total";
  expect(lines.filter((line) => line.startsWith(name))).toEqual([
    `${name}{cluster="one",outcome="changed",trigger="node_change"} 2`,
    `${name}{cluster="one",outcome="noop",trigger="node_change"} 1`,
    `${name}{cluster="one",outcome="noop",trigger="periodic"} 2`,
  ]);
});
