import {
  CONTENDERS,
  type ContenderName,
  type Measurement,
  type Results,
  type Row,
} from "#bench/measurement.ts";
import { percentile } from "#bench/report/percentile.ts";
import { type Spread, spreadOf } from "#bench/report/spread.ts";

/**
 * What is told of one repetition, each as one number; undefined where it says nothing. Nodes "up" are those that became
 * schedulable before the time limit; percentiles are of them alone, so that missing nodes are to be read beside them.
 */
export const METRICS = {
  /** As measured: from the first registration (or the contender's start) to the last node up. */
  totalMs: ({ totalMs }) => totalMs,
  /** Nodes up ÷ total time; 0 where none came up. */
  nodesPerSecond: (one) => (nodesUp(one) === 0 ? 0 : quotient(nodesUp(one) * 1_000, one.totalMs)),
  /** The inverse of the throughput. */
  msPerNode: (one) => quotient(one.totalMs, nodesUp(one)),
  /** From a node's registration to schedulable: what half of the nodes up did not exceed. */
  p50Ms: ({ latenciesMs }) => percentile(latenciesMs, 0.5),
  /** The same of 99 % of the nodes up. */
  p99Ms: ({ latenciesMs }) => percentile(latenciesMs, 0.99),
  nakedNodes: ({ nakedNodes }) => nakedNodes,
  missingNodes: ({ missingNodes }) => missingNodes,
  /** Writes of nodes, the refused ones included, ÷ nodes up. */
  nodeWritesPerNode: (one) => quotient(one.nodeWrites, nodesUp(one)),
  eventWrites: ({ eventWrites }) => eventWrites,
  tooManyRequests: ({ tooManyRequests }) => tooManyRequests,
  /** The throttled ones included. */
  cloudCalls: ({ cloudCalls }) => cloudCalls,
  cloudThrottled: ({ cloudThrottled }) => cloudThrottled,
  contenderCpuSeconds: ({ cpuSeconds }) => cpuSeconds.contender,
  kubeApiserverCpuSeconds: ({ cpuSeconds }) => cpuSeconds.kubeApiserver,
  etcdCpuSeconds: ({ cpuSeconds }) => cpuSeconds.etcd,
  peakMemoryMiB: ({ peakMemoryMiB }) => peakMemoryMiB,
} as const satisfies Record<string, (one: Measurement) => number | undefined>;

/** The name of one number told of a repetition. */
export type Metric = keyof typeof METRICS;

/** What one contender did in one row, over all repetitions. */
export interface Summary {
  readonly row: Row;
  readonly contender: ContenderName;
  readonly repetitions: number;
  /** Each metric over the repetitions in which it says something; undefined where there is none such. */
  readonly spreads: Readonly<Record<Metric, Spread | undefined>>;
}

/** One summary for each row and contender that were measured together: rows as listed, contenders in the order of a round. */
export function summarize({ rows, measurements }: Results): Summary[] {
  return rows.flatMap((row) =>
    CONTENDERS.flatMap((contender) => {
      const own = measurements.filter((one) => one.row === row.id && one.contender === contender);
      return own.length === 0 ? [] : [{ row, contender, repetitions: own.length, spreads: spreadsOf(own) }];
    }),
  );
}

function spreadsOf(repetitions: readonly Measurement[]): Summary["spreads"] {
  const spread = (metric: (one: Measurement) => number | undefined): Spread | undefined =>
    spreadOf(repetitions.map(metric).filter((value) => value !== undefined));
  return mapValues(METRICS, spread);
}

function mapValues<Key extends string, From, To>(
  record: Readonly<Record<Key, From>>,
  change: (value: From) => To,
): Record<Key, To> {
  const changed = Object.entries<From>(record).map(([key, value]) => [key, change(value)]);
  return Object.fromEntries(changed) as Record<Key, To>;
}

function nodesUp({ latenciesMs }: Measurement): number {
  return latenciesMs.length;
}

function quotient(dividend: number, divisor: number): number | undefined {
  return divisor > 0 ? dividend / divisor : undefined;
}
