import type { Counter, Histogram } from "prom-client";
import type { ObjectReport, Report } from "#core/report.ts";
import type { Watch } from "#core/watch.ts";
import type { WatchNote } from "#kube/follow/watch-handler.ts";
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

const CONTROLLER = ["cluster", "controller"] as const;
const RESOURCE = ["cluster", "resource"] as const;

/** Word, help and labels of each counter, in the order of the text. */
const COUNTERS = {
  invocations: ["invocations_total", "Invocations, by outcome.", [...CONTROLLER, "reason", "outcome"]],
  objects: ["objects_total", "Objects reported, by outcome.", [...CONTROLLER, "outcome"]],
  retries: ["retries_total", "Objects due again, by why.", [...CONTROLLER, "code"]],
  watchEnds: ["watch_ends_total", "Watches ended, by cause.", [...RESOURCE, "cause"]],
  lists: ["lists_total", "Complete lists, by cause.", [...RESOURCE, "cause"]],
  failures: ["watch_failures_total", "Lists and watches that failed, by code.", [...RESOURCE, "code"]],
  limits: ["cluster_limits_total", "Times that a limit of the cluster was met.", ["cluster", "limit"]],
  renewals: ["lease_renewals_total", "Renewals of the relay's Lease, by outcome.", ["cluster", "outcome"]],
  leftOut: ["log_lines_left_out_total", "Lines of the log beyond the cluster's limit.", ["cluster"]],
  nameless: [
    "nameless_objects_total",
    "Objects left out because they have no usable name, uid or version.",
    RESOURCE,
  ],
  malformed: ["malformed_objects_total", "Objects left out because they are malformed.", CONTROLLER],
  tooLarge: ["too_large_objects_total", "Objects left out because no event can carry them.", CONTROLLER],
  undone: ["undone_total", "Objects on which another writer keeps undoing our work.", CONTROLLER],
  unknown: [
    "unknown_controllers_total",
    "Controllers of a cluster's entry that this version does not have.",
    ["cluster"],
  ],
  reads: ["reads_total", "Objects read because the watch was late, by outcome.", [...RESOURCE, "outcome"]],
  cloudCalls: ["cloud_calls_total", "Calls to the cloud, as reported.", [...CONTROLLER, "operation"]],
  cloudThrottled: ["cloud_throttled_total", "Calls that the cloud throttled.", CONTROLLER],
  cloudWaited: ["cloud_waited_seconds_total", "Seconds held back before calls to the cloud.", CONTROLLER],
  clusterRequests: [
    "cluster_requests_total",
    "Requests of functions to the API server, and what came of them.",
    [...CONTROLLER, "kind"],
  ],
} as const satisfies Readonly<Record<string, CounterDefinition>>;

type CounterDefinition = readonly [word: string, help: string, labelNames: readonly string[]];
type Counters = Readonly<Record<keyof typeof COUNTERS, Counter>>;

function createCounters(counter: NoteMetricsOptions["counter"]): Counters {
  const definitions: [string, CounterDefinition][] = Object.entries(COUNTERS);
  return Object.fromEntries(
    definitions.map(([key, definition]) => [key, counter(...definition)]),
  ) as Counters;
}

/** Adds the counters and histograms of the relay's notes. Returns the function that counts a note. */
export function addNoteMetrics(options: NoteMetricsOptions): (note: RelayNote) => void {
  const { watches, counter, histogram, codes } = options;
  const delays = createDelayHistograms(watches, histogram);
  const latency = histogram(
    "serverless_ccm_due_to_report_seconds",
    "Seconds from an object's becoming due until its report.",
    CONTROLLER,
  );
  const counters = createCounters(counter);

  function observeWatch(labels: ResourceLabels, note: WatchNote): void {
    if (note.kind === "listed") counters.lists.inc({ ...labels, cause: note.cause });
    if (note.kind === "ended") counters.watchEnds.inc({ ...labels, cause: note.cause });
    if (note.kind === "failed") counters.failures.inc({ ...labels, code: note.code });
    if (note.kind === "limited") counters.limits.inc({ cluster: labels.cluster, limit: note.limit });
    if (note.kind === "malformed") counters.nameless.inc({ ...labels }, note.objects);
  }

  function observeDelivery(labels: ControllerLabels, { delivery, endedMs }: DeliveredNote): void {
    const { event, invocation } = delivery;
    const outcome = invocation.kind === "report" ? "report" : codes(invocation.code);
    counters.invocations.inc({ ...labels, reason: event.reason, outcome });
    if (invocation.kind === "report") observeUsage(labels, invocation.report);
    for (const [index, settlement] of delivery.settlements.entries()) {
      const object = delivery.objects[index];
      if (object === undefined) continue;
      if (settlement.kind !== "report") {
        counters.retries.inc({
          ...labels,
          code: invocation.kind === "failed" ? codes(invocation.code) : "NotNamed",
        });
        continue;
      }
      latency.observe({ ...labels }, Math.max(0, endedMs - object.sinceMs) / 1000);
      observeReport(labels, settlement.report);
    }
  }

  function observeReport(labels: ControllerLabels, report: ObjectReport): void {
    counters.objects.inc({ ...labels, outcome: report.outcome });
    if (report.outcome === "retry") counters.retries.inc({ ...labels, code: codes(report.because.code) });
  }

  function observeUsage(labels: ControllerLabels, { usage }: Report): void {
    for (const [operation, calls] of Object.entries(usage.cloud.calls)) {
      counters.cloudCalls.inc({ ...labels, operation: codes(operation) }, Math.max(0, calls));
    }
    counters.cloudThrottled.inc({ ...labels }, Math.max(0, usage.cloud.throttled));
    counters.cloudWaited.inc({ ...labels }, Math.max(0, usage.cloud.waitedMs) / 1000);
    for (const [kind, read] of USAGE_KINDS)
      counters.clusterRequests.inc({ ...labels, kind }, Math.max(0, read(usage.cluster)));
  }

  return function observe(note) {
    const { cluster } = note;
    switch (note.kind) {
      case "watch":
        return observeWatch({ cluster, resource: note.resource }, note.note);
      case "delivered":
        return observeDelivery({ cluster, controller: note.controller }, note);
      case "malformed":
        return counters.malformed.inc({ cluster, controller: note.controller });
      case "undone":
        return counters.undone.inc({ cluster, controller: note.controller });
      case "too-large":
        return counters.tooLarge.inc({ cluster, controller: note.controller }, note.objects.length);
      case "read": {
        const outcome = note.failure === undefined ? "done" : "failed";
        return counters.reads.inc({ cluster, resource: note.resource, outcome });
      }
      case "unknown-controller":
        return counters.unknown.inc({ cluster });
      case "delay":
        return delays.get(note.metric)?.observe({ cluster }, note.seconds);
      case "answer-limited":
      case "log-limited":
        return counters.limits.inc({ cluster, limit: note.limit });
      case "lease":
        return counters.renewals.inc({ cluster, outcome: note.outcome });
      case "log-left-out":
        return counters.leftOut.inc({ cluster }, note.lines);
      case "refreshed":
      case "recovered":
        return;
    }
  };
}

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
