import type { Counter, Histogram } from "prom-client";
import type { ObjectReport, Report } from "#core/report.ts";
import type { Watch } from "#core/watch.ts";
import type { WatchNote } from "#kube/follow/watch.ts";
import { USAGE_KINDS } from "#relay/report/metric.ts";
import type { RelayNote } from "#relay/report/relay-note.ts";

/** What the metrics of notes need from the relay's registry. */
export interface NoteMetricsOptions {
  readonly watches: readonly Watch[];
  /** Registers a counter; its name gets the prefix of the project. */
  readonly counter: (word: string, help: string, labelNames: readonly string[]) => Counter;
  readonly histogram: CreateHistogram;
  /** Returns the value of a label for a code from outside, of which there is a limited number. */
  readonly codes: (code: string) => string;
}

type CreateHistogram = (name: string, help: string, labelNames: readonly string[]) => Histogram;

/** Adds the counters and histograms of the relay's notes. Returns the function that counts a note. */
export function addNoteMetrics(options: NoteMetricsOptions): (note: RelayNote) => void {
  const { watches, counter, histogram, codes } = options;
  const delays = createDelayHistograms(watches, histogram);
  const latency = histogram(
    "serverless_ccm_due_to_report_seconds",
    "Seconds from an object's becoming due until its report.",
    CONTROLLER,
  );
  const invocations = counter("invocations_total", "Invocations, by outcome.", [
    ...CONTROLLER,
    "reason",
    "outcome",
  ]);
  const objects = counter("objects_total", "Objects reported, by outcome.", [...CONTROLLER, "outcome"]);
  const retries = counter("retries_total", "Objects due again, by why.", [...CONTROLLER, "code"]);
  const watchEnds = counter("watch_ends_total", "Watches ended, by cause.", [...RESOURCE, "cause"]);
  const lists = counter("lists_total", "Complete lists, by cause.", [...RESOURCE, "cause"]);
  const failures = counter("watch_failures_total", "Lists and watches that failed, by code.", [
    ...RESOURCE,
    "code",
  ]);
  const limits = counter("cluster_limits_total", "Times that a limit of the cluster was met.", [
    "cluster",
    "limit",
  ]);
  const renewals = counter("lease_renewals_total", "Renewals of the relay's Lease, by outcome.", [
    "cluster",
    "outcome",
  ]);
  const leftOut = counter("log_lines_left_out_total", "Lines of the log beyond the cluster's limit.", [
    "cluster",
  ]);
  const nameless = counter(
    "nameless_objects_total",
    "Objects left out because they have no usable name, uid or version.",
    RESOURCE,
  );
  const malformed = counter(
    "malformed_objects_total",
    "Objects left out because they are malformed.",
    CONTROLLER,
  );
  const tooLarge = counter(
    "too_large_objects_total",
    "Objects left out because no event can carry them.",
    CONTROLLER,
  );
  const undone = counter(
    "undone_total",
    "Objects on which another writer keeps undoing our work.",
    CONTROLLER,
  );
  const unknown = counter(
    "unknown_controllers_total",
    "Controllers of a cluster's entry that this version does not have.",
    ["cluster"],
  );
  const reads = counter("reads_total", "Objects read because the watch was late, by outcome.", [
    ...RESOURCE,
    "outcome",
  ]);
  const cloudCalls = counter("cloud_calls_total", "Calls to the cloud, as reported.", [
    ...CONTROLLER,
    "operation",
  ]);
  const cloudThrottled = counter("cloud_throttled_total", "Calls that the cloud throttled.", CONTROLLER);
  const cloudWaited = counter(
    "cloud_waited_seconds_total",
    "Seconds held back before calls to the cloud.",
    CONTROLLER,
  );
  const clusterRequests = counter(
    "cluster_requests_total",
    "Requests of functions to the API server, and what came of them.",
    [...CONTROLLER, "kind"],
  );

  function observeWatch(labels: ResourceLabels, note: WatchNote): void {
    if (note.kind === "listed") lists.inc({ ...labels, cause: note.cause });
    if (note.kind === "ended") watchEnds.inc({ ...labels, cause: note.cause });
    if (note.kind === "failed") failures.inc({ ...labels, code: note.code });
    if (note.kind === "limited") limits.inc({ cluster: labels.cluster, limit: note.limit });
    if (note.kind === "malformed") nameless.inc({ ...labels }, note.objects);
  }

  function observeDelivery(labels: ControllerLabels, { delivery, endedMs }: DeliveredNote): void {
    const { event, invocation } = delivery;
    const outcome = invocation.kind === "report" ? "report" : codes(invocation.code);
    invocations.inc({ ...labels, reason: event.reason, outcome });
    if (invocation.kind === "report") observeUsage(labels, invocation.report);
    for (const [index, settlement] of delivery.settlements.entries()) {
      const object = delivery.objects[index];
      if (object === undefined) continue;
      if (settlement.kind !== "report") {
        retries.inc({ ...labels, code: invocation.kind === "failed" ? codes(invocation.code) : "NotNamed" });
        continue;
      }
      latency.observe({ ...labels }, Math.max(0, endedMs - object.sinceMs) / 1000);
      observeReport(labels, settlement.report);
    }
  }

  function observeReport(labels: ControllerLabels, report: ObjectReport): void {
    objects.inc({ ...labels, outcome: report.outcome });
    if (report.outcome === "retry") retries.inc({ ...labels, code: codes(report.because.code) });
  }

  function observeUsage(labels: ControllerLabels, { usage }: Report): void {
    for (const [operation, calls] of Object.entries(usage.cloud.calls)) {
      cloudCalls.inc({ ...labels, operation: codes(operation) }, Math.max(0, calls));
    }
    cloudThrottled.inc({ ...labels }, Math.max(0, usage.cloud.throttled));
    cloudWaited.inc({ ...labels }, Math.max(0, usage.cloud.waitedMs) / 1000);
    for (const [kind, read] of USAGE_KINDS)
      clusterRequests.inc({ ...labels, kind }, Math.max(0, read(usage.cluster)));
  }

  return function observe(note) {
    const { cluster } = note;
    switch (note.kind) {
      case "watch":
        return observeWatch({ cluster, resource: note.resource }, note.note);
      case "delivered":
        return observeDelivery({ cluster, controller: note.controller }, note);
      case "malformed":
        return malformed.inc({ cluster, controller: note.controller });
      case "undone":
        return undone.inc({ cluster, controller: note.controller });
      case "too-large":
        return tooLarge.inc({ cluster, controller: note.controller }, note.objects.length);
      case "read": {
        const outcome = note.failure === undefined ? "done" : "failed";
        return reads.inc({ cluster, resource: note.resource, outcome });
      }
      case "unknown-controller":
        return unknown.inc({ cluster });
      case "delay":
        return delays.get(note.metric)?.observe({ cluster }, note.seconds);
      case "answer-limited":
      case "log-limited":
        return limits.inc({ cluster, limit: note.limit });
      case "lease":
        return renewals.inc({ cluster, outcome: note.outcome });
      case "log-left-out":
        return leftOut.inc({ cluster }, note.lines);
      case "refreshed":
      case "recovered":
        return;
    }
  };
}

const CONTROLLER = ["cluster", "controller"] as const;
const RESOURCE = ["cluster", "resource"] as const;
type ControllerLabels = Readonly<Record<(typeof CONTROLLER)[number], string>>;
type ResourceLabels = Readonly<Record<(typeof RESOURCE)[number], string>>;
type DeliveredNote = Extract<RelayNote, { readonly kind: "delivered" }>;

/** Creates one histogram for each name, even if several controllers measure it. */
function createDelayHistograms(
  watches: readonly Watch[],
  histogram: CreateHistogram,
): ReadonlyMap<string, Histogram> {
  const byMetric = new Map<string, Histogram>();
  for (const { metric, help } of watches.flatMap(({ metrics }) => metrics?.delays ?? []))
    if (!byMetric.has(metric)) byMetric.set(metric, histogram(metric, help, ["cluster"]));
  return byMetric;
}
