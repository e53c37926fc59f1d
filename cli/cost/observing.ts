import { HOURS_PER_MONTH } from "#cli/cost/always-on.ts";
import type { Prices } from "#cli/cost/prices.ts";

/** Dollars a month for what tells of all clusters. */
export interface Observing {
  /** Of the functions; they are in the bill. */
  readonly functionLogsUsd: number;
  /** Of the relay, which says of each invocation and object what the function says: taken to be as much. They are not in the bill. */
  readonly relayLogsUsd: number;
  /** Absent where nothing is known of their prices. */
  readonly metrics?: MetricsCost;
}

/** Dollars a month for metrics, none of which is in the bill. */
export interface MetricsCost {
  readonly series: number;
  readonly samples: number;
  readonly samplesUsd: number;
  /** With `--metrics-detail fleet` of the relay. */
  readonly fleet: { readonly series: number; readonly samplesUsd: number };
  readonly cloudWatchUsd: number;
}

/** Series of a cluster with nodes, their lifecycle and Services looked after, once each has seen work; a test counts them. */
export const SERIES_PER_CLUSTER = 145;

/** Of these, what `--metrics-detail fleet` keeps for each cluster; the others are there once, of all clusters together. */
export const SERIES_PER_CLUSTER_OF_FLEET = 9;

/** Seconds between two scrapes. */
const SCRAPE_SECONDS = 30;

/**
 * Metrics that the sweep makes in CloudWatch where all is well or something is left over, without those of single clusters: for the
 * deployment and, until the next version, for all deployments together.
 */
export const CLOUD_WATCH_METRICS = 4;

/** Alarms in CloudWatch: those of infra/monitoring and the two of the queues. */
export const CLOUD_WATCH_ALARMS = 6;

const SAMPLES_PER_PRICE = 10_000_000;
const SECONDS_PER_HOUR = 3_600;

/** What logs and metrics of so many clusters cost. */
export function observingOf(
  clusters: number,
  functionLogsUsd: number,
  { metrics: prices }: { readonly metrics?: Prices["metrics"] },
): Observing {
  const logs = { functionLogsUsd, relayLogsUsd: functionLogsUsd };
  if (prices === undefined) return logs;
  const series = clusters * SERIES_PER_CLUSTER;
  const ofFleet = SERIES_PER_CLUSTER - SERIES_PER_CLUSTER_OF_FLEET + clusters * SERIES_PER_CLUSTER_OF_FLEET;
  const samples = samplesOf(series);
  const samplesUsd = samplesCost(samples, prices);
  const cloudWatchUsd =
    CLOUD_WATCH_METRICS * prices.cloudWatchMetric.usd + CLOUD_WATCH_ALARMS * prices.cloudWatchAlarm.usd;
  const fleet = { series: ofFleet, samplesUsd: samplesCost(samplesOf(ofFleet), prices) };
  return { ...logs, metrics: { series, samples, samplesUsd, fleet, cloudWatchUsd } };
}

function samplesOf(series: number): number {
  return (series * HOURS_PER_MONTH * SECONDS_PER_HOUR) / SCRAPE_SECONDS;
}

function samplesCost(samples: number, prices: NonNullable<Prices["metrics"]>): number {
  const first = Math.min(samples, prices.firstSamples);
  return (first * prices.sample.usd + (samples - first) * prices.furtherSample.usd) / SAMPLES_PER_PRICE;
}
