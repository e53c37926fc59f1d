import type { Arrival, ContenderName, Machine, Measurement, Results, Row } from "#bench/measurement.ts";

export const MACHINE: Machine = {
  startedAt: "2026-03-04T05:06:07.000Z",
  cpu: "Some CPU @ 2.20GHz",
  cores: 2,
  memoryGiB: 23.5,
  kernel: "Linux 6.1.0",
  versions: { node: "24.21.0", "kube-apiserver": "1.36.3" },
  cloudLatencyMs: 60,
};

export const AT_ONCE = buildRow("1000-at-once", 1_000, { kind: "at-once" });

export function buildRow(id: string, nodes: number, arrival: Arrival, providerIds = true): Row {
  return { id, nodes, providerIds, arrival };
}

/**
 * Returns one successful repetition in which `up` nodes came up, all with the same latency unless
 * `latenciesMs` is set.
 */
export function buildMeasurement(
  contender: ContenderName,
  {
    up = 1_000,
    latencyMs = 500,
    ...difference
  }: Partial<Measurement> & { up?: number; latencyMs?: number } = {},
): Measurement {
  return {
    row: AT_ONCE.id,
    contender,
    repetition: 0,
    latenciesMs: Array.from({ length: up }, () => latencyMs),
    totalMs: 2_000,
    registeringMs: 1_000,
    nakedNodes: 0,
    missingNodes: 0,
    nodeWrites: 2 * up,
    nodeReads: 0,
    eventWrites: 0,
    tooManyRequests: 0,
    cloudCalls: 10,
    cloudThrottled: 0,
    cpuSeconds: { contender: 1, kubeApiserver: 2, etcd: 0.5 },
    peakMemoryMiB: 100,
    loadAverage: 0.3,
    ...difference,
  };
}

export function buildResults(
  measurements: readonly Measurement[],
  rows: readonly Row[] = [AT_ONCE],
): Results {
  return { machine: MACHINE, rows: [...rows], measurements: [...measurements] };
}
