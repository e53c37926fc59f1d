import { HOURS_PER_MONTH } from "#bench/cost/always-on.ts";
import type { Prices } from "#bench/cost/prices.ts";

/** Dollars a month for logs and metrics of all clusters. */
export interface ObservabilityCost {
  /** The functions' logs, which are in the bill. */
  readonly functionLogsUsd: number;
  /**
   * The relay's logs, which are not in the bill. They repeat each invocation and object of the functions'
   * logs, so their size is assumed to be equal.
   */
  readonly relayLogsUsd: number;
  /** Missing if the prices are unknown. */
  readonly metrics?: MetricsCost;
}

/** Dollars a month for metrics; no part of it is in the bill. */
export interface MetricsCost {
  readonly series: number;
  readonly samples: number;
  readonly samplesUsd: number;
  /** With the relay's `--metrics-detail fleet`. */
  readonly fleet: { readonly series: number; readonly samplesUsd: number };
  readonly cloudWatchUsd: number;
}

/**
 * The series of a cluster with nodes, their lifecycle and Services, once each has seen work; a test counts
 * them.
 */
export const SERIES_PER_CLUSTER = 145;

/**
 * Of these, the series that `--metrics-detail fleet` keeps for each cluster; it sums the others over all
 * clusters.
 */
export const SERIES_PER_CLUSTER_OF_FLEET = 9;

/** The seconds between two scrapes. */
const SCRAPE_SECONDS = 30;

/**
 * The metrics that the sweep writes to CloudWatch, without those of single clusters. They are for the
 * deployment and, until the next version, for all deployments together.
 */
export const CLOUD_WATCH_METRICS = 4;

/** The alarms in CloudWatch: those of infra/monitoring and the two for the queues. */
export const CLOUD_WATCH_ALARMS = 6;

const SAMPLES_PER_PRICE = 10_000_000;
const SECONDS_PER_HOUR = 3_600;

/** Computes the cost of logs and metrics for this many clusters. */
export function computeObserving(
  clusters: number,
  functionLogsUsd: number,
  { metrics: prices }: { readonly metrics?: Prices["metrics"] },
): ObservabilityCost {
  const logs = { functionLogsUsd, relayLogsUsd: functionLogsUsd };
  if (prices === undefined) return logs;
  const series = clusters * SERIES_PER_CLUSTER;
  const ofFleet = SERIES_PER_CLUSTER - SERIES_PER_CLUSTER_OF_FLEET + clusters * SERIES_PER_CLUSTER_OF_FLEET;
  const samples = countSamples(series);
  const samplesUsd = computeSamplesCost(samples, prices);
  const cloudWatchUsd =
    CLOUD_WATCH_METRICS * prices.cloudWatchMetric.usd + CLOUD_WATCH_ALARMS * prices.cloudWatchAlarm.usd;
  const fleet = { series: ofFleet, samplesUsd: computeSamplesCost(countSamples(ofFleet), prices) };
  return { ...logs, metrics: { series, samples, samplesUsd, fleet, cloudWatchUsd } };
}

function countSamples(series: number): number {
  return (series * HOURS_PER_MONTH * SECONDS_PER_HOUR) / SCRAPE_SECONDS;
}

function computeSamplesCost(samples: number, prices: NonNullable<Prices["metrics"]>): number {
  const first = Math.min(samples, prices.firstSamples);
  return (first * prices.sample.usd + (samples - first) * prices.furtherSample.usd) / SAMPLES_PER_PRICE;
}
