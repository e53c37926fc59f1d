import {
  CONTENDERS,
  type ContenderName,
  type Measurement,
  type Results,
  type Row,
} from "#bench/measurement.ts";
import { getPercentile } from "#bench/report/percentile.ts";
import { computeSpread, type Spread } from "#bench/report/spread.ts";

/**
 * The metrics of one repetition, each one number; undefined without meaning. Nodes "up" became schedulable
 * before the time limit. Percentiles cover only these, so read them together with the missing nodes.
 */
export const METRICS = {
  /** As measured: from the first registration (or the contender's start) to the last node up. */
  totalMs: ({ totalMs }) => totalMs,
  /** Nodes up ÷ total time; 0 if none came up. */
  nodesPerSecond: (one) => (countNodesUp(one) === 0 ? 0 : divide(countNodesUp(one) * 1_000, one.totalMs)),
  /** The inverse of the throughput. */
  msPerNode: (one) => divide(one.totalMs, countNodesUp(one)),
  /** From a node's registration to schedulable: the time that half of the nodes up did not exceed. */
  p50Ms: ({ latenciesMs }) => getPercentile(latenciesMs, 0.5),
  /** From a node's registration to schedulable: the time that 99 % of the nodes up did not exceed. */
  p99Ms: ({ latenciesMs }) => getPercentile(latenciesMs, 0.99),
  nakedNodes: ({ nakedNodes }) => nakedNodes,
  missingNodes: ({ missingNodes }) => missingNodes,
  /** Writes of nodes, including rejected ones, ÷ nodes up. */
  nodeWritesPerNode: (one) => divide(one.nodeWrites, countNodesUp(one)),
  eventWrites: ({ eventWrites }) => eventWrites,
  tooManyRequests: ({ tooManyRequests }) => tooManyRequests,
  /** Including throttled ones. */
  cloudCalls: ({ cloudCalls }) => cloudCalls,
  cloudThrottled: ({ cloudThrottled }) => cloudThrottled,
  contenderCpuSeconds: ({ cpuSeconds }) => cpuSeconds.contender,
  kubeApiserverCpuSeconds: ({ cpuSeconds }) => cpuSeconds.kubeApiserver,
  etcdCpuSeconds: ({ cpuSeconds }) => cpuSeconds.etcd,
  peakMemoryMiB: ({ peakMemoryMiB }) => peakMemoryMiB,
} as const satisfies Record<string, (one: Measurement) => number | undefined>;

/** The name of a repetition's metric. */
export type Metric = keyof typeof METRICS;

/** One contender's results in one row, over all repetitions. */
export interface Summary {
  readonly row: Row;
  readonly contender: ContenderName;
  readonly repetitions: number;
  /** Each metric over the repetitions in which it has a meaning; undefined if it has none. */
  readonly spreads: Readonly<Record<Metric, Spread | undefined>>;
}

/**
 * Returns one summary for each row and contender measured together: rows as listed, contenders in the order
 * of a round.
 */
export function summarize({ rows, measurements }: Results): Summary[] {
  return rows.flatMap((row) =>
    CONTENDERS.flatMap((contender) => {
      const own = measurements.filter((one) => one.row === row.id && one.contender === contender);
      return own.length === 0
        ? []
        : [{ row, contender, repetitions: own.length, spreads: computeSpreads(own) }];
    }),
  );
}

function computeSpreads(repetitions: readonly Measurement[]): Summary["spreads"] {
  const spread = (metric: (one: Measurement) => number | undefined): Spread | undefined =>
    computeSpread(repetitions.map(metric).filter((value) => value !== undefined));
  return mapValues(METRICS, spread);
}

function mapValues<Key extends string, From, To>(
  record: Readonly<Record<Key, From>>,
  change: (value: From) => To,
): Record<Key, To> {
  const changed = Object.entries<From>(record).map(([key, value]) => [key, change(value)]);
  return Object.fromEntries(changed) as Record<Key, To>;
}

function countNodesUp({ latenciesMs }: Measurement): number {
  return latenciesMs.length;
}

function divide(dividend: number, divisor: number): number | undefined {
  return divisor > 0 ? dividend / divisor : undefined;
}
