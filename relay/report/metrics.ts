import { Counter, Gauge, Histogram, type LabelValues, Registry } from "prom-client";
import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import type { ClusterUsage, ObjectReport, Report } from "#core/report.ts";
import type { WatchNote } from "#kube/follow/watch.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import type { RelayNote } from "#relay/report/note.ts";

/** The metrics of one relay, in a registry of its own. */
export interface RelayMetrics {
  readonly contentType: string;
  /** In Prometheus' text format. */
  text(): Promise<string>;
  observe(note: RelayNote): void;
  /** Where gauges read the state from, whenever they are asked. */
  follow(status: () => readonly FollowedCluster[]): void;
  /** Drops what was counted of a cluster that is followed no longer. */
  forget(cluster: string): Promise<void>;
}

/** Seconds from a node's creation; the stock controller's metrics by name, with buckets that show work below a second. */
const DELAY_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 1024];

/** Different values of a label that is made of what others answer; more of them are counted as `other`. */
const MAX_LABEL_VALUES = 50;

/** Creates the metrics; labels are clusters as configured, and codes of which there are few. */
export function createRelayMetrics(): RelayMetrics {
  const registry = new Registry();
  const registers = [registry];
  const codes = createLabelLimit(MAX_LABEL_VALUES);
  let status: () => readonly FollowedCluster[] = () => [];

  const counter = (name: string, help: string, labelNames: readonly string[]): Counter =>
    new Counter({ name: `serverless_ccm_${name}`, help, labelNames, registers });
  const histogram = (name: string, help: string, labelNames: readonly string[] = []): Histogram =>
    new Histogram({ name, help, labelNames, buckets: DELAY_BUCKETS, registers });
  const gauge = (name: string, help: string, read: (each: FollowedCluster) => number): Gauge =>
    new Gauge({
      name: `serverless_ccm_${name}`,
      help,
      labelNames: ["cluster"],
      registers,
      collect() {
        this.reset();
        for (const each of status()) this.set({ cluster: each.name }, read(each));
      },
    });

  gauge("cluster_ready", "1 while the cluster's list is complete and its watch open.", (each) =>
    Number(each.ready),
  );
  gauge(
    "cluster_misconfigured",
    "1 while the cluster's entry or sign-in cannot be used as it is now.",
    (each) => Number(each.configurationFault !== undefined),
  );
  gauge("objects", "Objects that the API server lists.", (each) => each.objects);
  gauge("pending_objects", "Objects that need work.", (each) => each.needed);
  gauge("in_flight_objects", "Objects in flight.", (each) => each.inFlight);
  gauge("in_flight_invocations", "Invocations in flight.", (each) => each.invocations);

  const initialSync = histogram(
    "node_controller_initial_node_sync_delay_seconds",
    "Seconds after a node's creation until it was initialized.",
  );
  const taintRemoval = histogram(
    "node_controller_cloud_provider_taint_removal_delay_seconds",
    "Seconds after a node's creation until its uninitialized taint was removed.",
  );
  const latency = histogram(
    "serverless_ccm_due_to_report_seconds",
    "Seconds from an object's becoming due until its report.",
    ["cluster"],
  );
  const invocations = counter("invocations_total", "Invocations, by outcome.", [
    "cluster",
    "reason",
    "outcome",
  ]);
  const objects = counter("objects_total", "Objects reported, by outcome.", ["cluster", "outcome"]);
  const retries = counter("retries_total", "Objects due again, by why.", ["cluster", "code"]);
  const watchEnds = counter("watch_ends_total", "Watches ended, by cause.", ["cluster", "cause"]);
  const lists = counter("lists_total", "Complete lists, by cause.", ["cluster", "cause"]);
  const failures = counter("watch_failures_total", "Lists and watches that failed, by code.", [
    "cluster",
    "code",
  ]);
  const malformed = counter("malformed_objects_total", "Objects left out because they are malformed.", [
    "cluster",
  ]);
  const tooLarge = counter("too_large_objects_total", "Objects left out because no event can carry them.", [
    "cluster",
  ]);
  const restored = counter("taint_restored_total", "Nodes whose taint another controller keeps restoring.", [
    "cluster",
  ]);
  const reads = counter("reads_total", "Objects read because the watch was late, by outcome.", [
    "cluster",
    "outcome",
  ]);
  const cloudCalls = counter("cloud_calls_total", "Calls to the cloud, as reported.", [
    "cluster",
    "operation",
  ]);
  const cloudThrottled = counter("cloud_throttled_total", "Calls that the cloud throttled.", ["cluster"]);
  const cloudWaited = counter("cloud_waited_seconds_total", "Seconds held back before calls to the cloud.", [
    "cluster",
  ]);
  const clusterRequests = counter(
    "cluster_requests_total",
    "Requests of functions to the API server, and what came of them.",
    ["cluster", "kind"],
  );

  function observeWatch(cluster: string, note: WatchNote): void {
    if (note.kind === "listed") lists.inc({ cluster, cause: note.cause });
    if (note.kind === "ended") watchEnds.inc({ cluster, cause: note.cause });
    if (note.kind === "failed") failures.inc({ cluster, code: note.code });
    if (note.kind === "malformed") malformed.inc({ cluster });
  }

  function observeDelivery({ cluster, delivery, endedMs }: Extract<RelayNote, { kind: "delivered" }>): void {
    const { event, invocation } = delivery;
    const outcome = invocation.kind === "report" ? "report" : codes(invocation.code);
    invocations.inc({ cluster, reason: event.reason, outcome });
    if (invocation.kind === "report") observeUsage(cluster, invocation.report);
    for (const [index, settlement] of delivery.settlements.entries()) {
      const object = delivery.objects[index];
      if (object === undefined) continue;
      if (settlement.kind !== "report") {
        retries.inc({ cluster, code: invocation.kind === "failed" ? codes(invocation.code) : "NotNamed" });
        continue;
      }
      latency.observe({ cluster }, Math.max(0, endedMs - object.sinceMs) / 1000);
      observeReport(cluster, settlement.report, object.snapshot, endedMs);
    }
  }

  function observeReport(cluster: string, report: ObjectReport, sent: Node, endedMs: number): void {
    objects.inc({ cluster, outcome: report.outcome });
    if (report.outcome === "retry") retries.inc({ cluster, code: codes(report.because.code) });
    if (report.outcome !== "changed" || !isTainted(sent)) return;
    const seconds = (endedMs - Date.parse(sent.metadata.creationTimestamp)) / 1000;
    if (!Number.isFinite(seconds)) return;
    initialSync.observe(Math.max(0, seconds));
    taintRemoval.observe(Math.max(0, seconds));
  }

  function observeUsage(cluster: string, { usage }: Report): void {
    for (const [operation, calls] of Object.entries(usage.cloud.calls)) {
      cloudCalls.inc({ cluster, operation: codes(operation) }, Math.max(0, calls));
    }
    cloudThrottled.inc({ cluster }, Math.max(0, usage.cloud.throttled));
    cloudWaited.inc({ cluster }, Math.max(0, usage.cloud.waitedMs) / 1000);
    for (const [kind, read] of USAGE_KINDS)
      clusterRequests.inc({ cluster, kind }, Math.max(0, read(usage.cluster)));
  }

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    follow(read) {
      status = read;
    },
    async forget(cluster) {
      for (const metric of registry.getMetricsAsArray()) {
        // Gauges are read anew each time.
        if (!(metric instanceof Counter) && !(metric instanceof Histogram)) continue;
        const { values } = await metric.get();
        for (const { labels } of values)
          if (labels["cluster"] === cluster) metric.remove(withoutBucket(labels));
      }
    },
    observe(note) {
      const { cluster } = note;
      switch (note.kind) {
        case "watch":
          return observeWatch(cluster, note.note);
        case "delivered":
          return observeDelivery(note);
        case "malformed":
          return malformed.inc({ cluster });
        case "taint-restored":
          return restored.inc({ cluster });
        case "too-large":
          return tooLarge.inc({ cluster });
        case "read":
          return reads.inc({ cluster, outcome: note.failure === undefined ? "done" : "failed" });
        case "refreshed":
          return;
      }
    },
  };
}

const USAGE_KINDS: readonly (readonly [string, (usage: ClusterUsage) => number])[] = [
  ["write", (usage) => usage.writes],
  ["read", (usage) => usage.reads],
  ["conflict", (usage) => usage.conflicts],
  ["throttled", (usage) => usage.throttled],
  ["event", (usage) => usage.events],
  ["event-dropped", (usage) => usage.eventsDropped],
];

function withoutBucket({ le: _, ...labels }: Partial<Record<string, string | number>>): LabelValues<string> {
  return labels as LabelValues<string>;
}

function isTainted(node: Node): boolean {
  return node.spec.taints?.some((taint) => taint.key === UNINITIALIZED_TAINT) ?? false;
}

/** Passes the first so many different values, and `other` for those beyond. */
function createLabelLimit(maxValues: number): (value: string) => string {
  const values = new Set<string>();
  return (value) => {
    if (values.has(value)) return value;
    if (values.size >= maxValues || value.length > 100) return "other";
    values.add(value);
    return value;
  };
}
