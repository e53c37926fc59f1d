import type { Measured, MeasuredInvocation, Timing } from "#bench/cost/measured.ts";
import type { Prices, Workload } from "#bench/cost/prices.ts";

/**
 * Builds prices for easy arithmetic: a GB-second is $0.01, a request $0.001, a vCPU-hour $1, a GB-hour $0.1,
 * a GB of logs $1,000.
 */
export function buildPrices(): Prices {
  const published = { source: "a price list", read: "2026-01-02" };
  const lambda = (gbSecond: number): Prices["lambda"]["arm64"] => ({
    gbSecond: { usd: gbSecond, per: "GB-second", ...published },
    request: { usd: 0.001, per: "request", ...published },
  });
  const fargate = (factor: number): Prices["fargate"]["arm64"] => ({
    vcpuHour: { usd: factor, per: "vCPU-hour", ...published },
    gbHour: { usd: factor / 10, per: "GB-hour", ...published },
  });
  return {
    region: "nowhere-1",
    lambda: { arm64: lambda(0.01), x86_64: lambda(0.02) },
    fargate: {
      arm64: fargate(1),
      x86_64: fargate(2),
      taskSizes: [
        { vcpu: 4, gb: 8 },
        { vcpu: 1, gb: 1 },
        { vcpu: 1, gb: 2 },
      ],
    },
    logs: { gbIngested: { usd: 1_000, per: "GB", ...published } },
    metrics: {
      firstSamples: 1e9,
      sample: { usd: 2, per: "10 million samples", ...published },
      furtherSample: { usd: 1, per: "10 million samples", ...published },
      cloudWatchMetric: { usd: 0.5, per: "metric and month", ...published },
      cloudWatchAlarm: { usd: 0.2, per: "alarm and month", ...published },
    },
    stockRequest: { vcpu: 0.5, ...published },
  };
}

/**
 * Builds an invocation that waits `wallMs` and by default uses no CPU; a cold one takes ten times as long.
 */
export function buildInvocation(nodes: number, wallMs: number, cpuMs = 0): MeasuredInvocation {
  const cold: Timing = { wallMs: 10 * wallMs, cpuMs: 10 * cpuMs };
  return { nodes, warm: { wallMs, cpuMs }, cold, cloudCalls: 1, logLines: 0, logBytes: 0 };
}

/** Builds a function of 1 GB, and processes with round needs. */
export function buildMeasured(difference: Partial<Measured["function"]> = {}): Measured {
  return {
    date: "2026-01-02",
    machine: "a machine",
    versions: {},
    function: {
      memoryMB: 1_024,
      peakMemoryMiB: 100,
      cloudLatencyMs: 60,
      start: { wallMs: 1_000, cpuMs: 0 },
      initialize: [buildInvocation(1, 100), buildInvocation(100, 1_090)],
      look: [buildInvocation(1, 50), buildInvocation(100, 149)],
      ...difference,
    },
    relay: {
      nodesPerCluster: 1,
      seconds: 60,
      few: { clusters: 1, memoryMiB: 101, cpuShare: 0.001 },
      many: { clusters: 101, memoryMiB: 201, cpuShare: 0.101 },
    },
    stock: { nodes: 1, seconds: 60, memoryMiB: 102.4, cpuShare: 0.01 },
  };
}

/**
 * Builds a workload of 24 nodes a day, that is 730 a month, in ten clusters of one node. The nodes join one at
 * a time, and all invocations are warm.
 */
export function buildWorkload(difference: Partial<Workload> = {}): Workload {
  return {
    nodesPerDay: 24,
    clusters: 10,
    nodesPerCluster: 1,
    nodesPerInvocation: 1,
    coldShare: 0,
    architecture: "arm64",
    ...difference,
  };
}
