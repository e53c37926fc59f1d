import { Counter, Histogram, type Registry } from "prom-client";
import { routeWatch } from "#core/route/watch.ts";
import { serviceWatch } from "#core/service/watch.ts";
import type { Delivery } from "#relay/delivery/deliver.ts";

/** An invocation that has ended; times in milliseconds. */
export interface EndedDelivery {
  readonly cluster: string;
  readonly controller: string;
  readonly delivery: Delivery;
  readonly endedMs: number;
}

/** A metric as the reference documents it. */
interface Definition {
  readonly name: string;
  readonly type: "counter" | "histogram";
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** The buckets of the stock controller's histograms, in seconds: 1 to 16,384, each twice the previous one. */
const STOCK_BUCKETS: readonly number[] = Array.from({ length: 15 }, (_, index) => 2 ** index);

/**
 * Adds the metrics of the stock service and route controllers under their names, from reports; `define`
 * records each for the reference. Returns a function that observes an ended invocation.
 */
export function addStockMetrics(
  registers: Registry[],
  define: (definition: Definition) => Definition,
): (delivery: EndedDelivery) => void {
  const counter = (name: string, help: string, labelNames: readonly string[]): Counter =>
    new Counter({ ...define({ name, type: "counter", help, labelNames }), registers });
  const histogram = (name: string, help: string, labelNames: readonly string[]): Histogram =>
    new Histogram({
      ...define({ name, type: "histogram", help, labelNames }),
      buckets: [...STOCK_BUCKETS],
      registers,
    });
  const syncs = counter(
    "service_controller_loadbalancer_sync_total",
    "Load balancers resynced because nodes changed.",
    ["cluster"],
  );
  const errors = counter(
    "service_controller_nodesync_error_total",
    "Load balancers resynced because nodes changed, and due again.",
    ["cluster"],
  );
  const nodeSyncs = histogram(
    "service_controller_nodesync_latency_seconds",
    "Seconds from a change of nodes until all load balancers of one invocation were reported.",
    ["cluster"],
  );
  const updates = histogram(
    "service_controller_update_loadbalancer_host_latency_seconds",
    "Seconds from a change of nodes until a load balancer was reported.",
    ["cluster"],
  );
  const routeSyncs = counter(
    "route_controller_route_sync_total",
    "Comparisons of a cluster's routes, by outcome and by what brought them about.",
    ["cluster", "outcome", "trigger"],
  );

  function observeNodeSync(cluster: string, { objects, settlements }: Delivery, endedMs: number): void {
    const seconds: number[] = [];
    for (const [index, { resyncReason, sinceMs }] of objects.entries()) {
      const settlement = settlements[index];
      // A refused invocation never began. A Service's own work is not counted as a resync.
      if (resyncReason !== "watch" || settlement === undefined || settlement.kind === "refused") continue;
      seconds.push(Math.max(0, endedMs - sinceMs) / 1_000);
      syncs.inc({ cluster });
      if (settlement.kind !== "report" || settlement.report.outcome === "retry") errors.inc({ cluster });
    }
    for (const each of seconds) updates.observe({ cluster }, each);
    if (seconds.length > 0) nodeSyncs.observe({ cluster }, Math.max(...seconds));
  }

  function observeRouteSync(cluster: string, { event, settlements }: Delivery): void {
    for (const settlement of settlements) {
      if (settlement.kind !== "report") continue;
      const { outcome, because } = settlement.report;
      const isChanged = outcome === "changed" || because.code === "RoutesDeleted";
      const trigger = event.reason === "watch" ? "node_change" : "periodic";
      routeSyncs.inc({ cluster, outcome: isChanged ? "changed" : "noop", trigger });
    }
  }

  return ({ cluster, controller, delivery, endedMs }) => {
    if (controller === serviceWatch.name) observeNodeSync(cluster, delivery, endedMs);
    if (controller === routeWatch.name) observeRouteSync(cluster, delivery);
  };
}
