import { Cluster } from "#config/cluster.ts";
import { createStops } from "#config/switch/follow-stops.ts";
import type { Event } from "#core/event.ts";
import { ApiUnreachable } from "#kube/client/errors.ts";
import type { Transport } from "#kube/client/transport.ts";
import { checkPlatform } from "#relay/delivery/check-platform.ts";
import { createInvocationLimiter } from "#relay/delivery/create-invocation-limiter.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createProcessMetrics, type ServedMetrics } from "#relay/report/metric.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { createShardMetrics } from "#relay/sharding/shard-metrics.ts";
import { createWorkerMetrics, type WorkerMetrics } from "#relay/workers/metrics.ts";
import type { FakeApi } from "#test/kube/apply/fake-api.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { createFakeCluster } from "#test/relay/fake-cluster.ts";
import {
  type Behaviour,
  createFakeFunctions,
  type FakeFunctions,
  INITIALIZED,
} from "#test/relay/fake-functions.ts";
import { buildReport } from "#test/relay/report-builders.ts";

/** A relay with one cluster and all sources of its metrics, and its possible faults. */
export interface MonitoredWorld {
  readonly nodes: FakeApi;
  readonly services: FakeApi;
  readonly functions: FakeFunctions;
  readonly relay: Relay;
  /** The stop switch, as its reader sets it. */
  readonly stops: ReturnType<typeof createStops>;
  readonly workers: Pick<WorkerMetrics, "died">;
  /** The present faults. */
  readonly wrong: {
    apiServer: boolean;
    lease: boolean;
    platform: boolean;
    /** The relay's process has ended: scrapes fail. */
    gone: boolean;
    quarantined: boolean;
    /** The other replicas cannot hear this one. */
    cutOff: boolean;
    /** Clusters without a replica. */
    unowned: number;
    /** The file of clusters is unreadable. */
    home: boolean;
    /** Other work blocks the thread. */
    busy: boolean;
    /** The relay handles node events itself. */
    fallback: boolean;
    /** Overdue nodes that a sweep finds. */
    overdue: number;
  };
}

/** A series in promtool's form: one value for each scrape, `_` if missing. */
export interface Series {
  readonly series: string;
  readonly values: string;
}

/** Seconds between scrapes. */
export const SCRAPE_SECONDS = 30;
/** Scrapes without a fault, followed by those with a fault. */
export const WELL_SCRAPES = 20;
export const FAULT_SCRAPES = 130;

const LEASES = "/apis/coordination.k8s.io/";
const RENEWED = { kind: "PartialObjectMetadata", metadata: { uid: "lease", resourceVersion: "7" } };

/** Records the scrapes of /metrics, first without and then with `fault`. */
export async function recordSeries(
  fault: (world: MonitoredWorld) => void,
  limits = {},
  onScrape: (text: string) => void = () => {},
): Promise<readonly Series[]> {
  const { transport, collections } = createFakeCluster("nodes", "services", "namespaces");
  const { nodes, services } = collections;
  collections.namespaces.put("kube-system");
  nodes.put("well", INITIALIZED_AND_READY);
  const clock = createManualClock();
  const functions = createFakeFunctions(nodes);
  functions.behave(answerWell);
  const wrong = {
    apiServer: false,
    lease: false,
    platform: false,
    gone: false,
    quarantined: false,
    cutOff: false,
    unowned: 0,
    home: false,
    busy: false,
    fallback: false,
    overdue: 0,
  };
  const gate = createInvocationLimiter({ clock, random: () => 0.5 });
  const metrics = createRelayMetrics();
  metrics.followLimiter(gate.status);
  metrics.followHome(() => wrong.home);
  metrics.followFallback(() => (wrong.fallback ? ["cloud-node-controller"] : []));
  metrics.followSweep(() => new Map([["one", wrong.overdue]]));
  const platform = checkPlatform({
    dryRun: async () => (wrong.platform ? { code: "Denied", message: "not authorized" } : undefined),
    controllers: () => ["cloud-node-controller"],
    log: () => {},
    clock,
    random: () => 0.5,
  });
  metrics.followPlatform(platform.state);
  const workers = createWorkerMetrics();
  workers.follow(() => ({ workers: 2, quarantined: new Map([["one", wrong.quarantined]]) }));
  const shard = createShardMetrics(() => {
    const { cutOff: isCutOff, unowned } = wrong;
    return { self: "a", replicas: ["a"], isCutOff, own: 1, all: 1 + unowned };
  });
  // Only the version: this process's own state does not matter for most faults.
  const own = createProcessMetrics("0.0.0");
  const build = linesOf(await own.text(), "serverless_ccm_build_info");
  const stops = createStops({ stopped: [] });
  const relay = startRelay({
    stops,
    clusters: [{ cluster: clusterWith(limits), transport: failing(transport, wrong) }],
    ...{
      limiter: gate,
      invoker: functions,
      metrics,
      clock,
      sendsHeartbeats: true,
      identity: "test",
      random: () => 0.5,
    },
    nodeStatusUpdateFrequencySeconds: 100_000,
  });
  const recorded = createRecording();
  let lag = "";
  for (let scrape = 0; scrape < WELL_SCRAPES + FAULT_SCRAPES; scrape += 1) {
    if (scrape === WELL_SCRAPES) fault({ ...{ nodes, services, functions, relay, stops, workers, wrong } });
    if (!wrong.apiServer) for (const each of Object.values(collections)) each.bookmark();
    await clock.advance(SCRAPE_SECONDS * 1_000);
    if (wrong.busy && lag === "") lag = await lagOf(own);
    const texts = [await metrics.text(), await workers.text(), await shard.text(), build, lag];
    const text = wrong.gone ? "" : texts.join("\n");
    onScrape(text);
    recorded.scraped(text);
  }
  await Promise.all([relay.close(), platform.close()]);
  return recorded.series();
}

/** Returns the event loop metrics of a blocked thread, measured once for all scrapes. */
async function lagOf(own: Pick<ServedMetrics, "text">): Promise<string> {
  const turn = () => new Promise((resolve) => setTimeout(resolve, 20));
  await turn();
  const untilMs = performance.now() + BUSY_MS;
  while (performance.now() < untilMs);
  await turn();
  return linesOf(await own.text(), "nodejs_eventloop_lag_max_seconds");
}

const BUSY_MS = 700;

function linesOf(text: string, metric: string): string {
  return text
    .split("\n")
    .filter((line) => line.startsWith(metric))
    .join("\n");
}

/** Initializes nodes, and reports no work for all other objects. */
export function answerWell(event: Event): ReturnType<Behaviour> {
  return event.controller === "cloud-node-controller"
    ? "work"
    : { kind: "report", report: buildReport(event) };
}

/** The metrics of an initialized, healthy node. */
const INITIALIZED_AND_READY = {
  ...INITIALIZED,
  status: { ...INITIALIZED.status, conditions: [{ type: "Ready", status: "True" }] },
};

function clusterWith(limits: object): Cluster {
  return Cluster.parse({
    name: "one",
    server: "https://fake.invalid",
    cloud: { provider: "memory", instancesFile: "/none" },
    controllers: ["cloud-node-controller", "cloud-node-lifecycle-controller", "service-lb-controller"],
    limits,
  });
}

function failing(transport: Transport, wrong: MonitoredWorld["wrong"]): Transport {
  const reach = (): void => {
    if (wrong.apiServer)
      throw new ApiUnreachable({ code: "ConnectionRefused", server: "https://fake.invalid", attempt: "GET" });
  };
  return {
    close: () => transport.close(),
    async stream(request) {
      reach();
      return transport.stream(request);
    },
    async send(request) {
      reach();
      if (!request.path.startsWith(LEASES)) return transport.send(request);
      const answer = wrong.lease
        ? { status: 403, body: "{}" }
        : { status: 200, body: JSON.stringify(RENEWED) };
      return { ...answer, headers: {} };
    },
  };
}

/** Omits histograms, because no alert reads one. */
const SAMPLE = /^(\w+(?<!_bucket|_sum|_count)(?:\{.*\})?) (\S+)$/;

function createRecording() {
  const bySeries = new Map<string, string[]>();
  let scrapes = 0;
  return {
    scraped(text: string): void {
      for (const line of text.split("\n")) {
        const [, series, value] = SAMPLE.exec(line) ?? [];
        if (series === undefined || value === undefined) continue;
        const values = bySeries.get(series) ?? Array.from({ length: scrapes }, () => "_");
        bySeries.set(series, values);
        values.push(value);
      }
      scrapes += 1;
      for (const values of bySeries.values()) if (values.length < scrapes) values.push("stale");
    },
    series: () => [...bySeries].map(([series, values]) => ({ series, values: values.join(" ") })),
  };
}
