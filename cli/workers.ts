import type { ConfigurationFault } from "#cli/configuration-error.ts";

/** How many workers so many clusters have. */
export type WorkersFor = (clusters: number) => number;

/** Clusters that share a worker by default, and workers at most; both follow from docs/decisions/0012-bulkheads.md. */
const CLUSTERS_PER_WORKER = 50;
const MAX_DEFAULT_WORKERS = 4;

const MAX_WORKERS = 64;

/** Reads `--workers`; undefined is none: all clusters live in the main thread. */
export function readWorkers(text: string | undefined, faults: ConfigurationFault[]): WorkersFor | undefined {
  if (text === undefined)
    return (clusters) =>
      Math.min(MAX_DEFAULT_WORKERS, Math.max(1, Math.ceil(clusters / CLUSTERS_PER_WORKER)));
  const count = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (count === 0) return undefined;
  if (!(count <= MAX_WORKERS)) {
    const message = `"${text}" is no number of workers; give 0 (none) to ${MAX_WORKERS}`;
    faults.push({ name: "--workers", message });
  }
  return () => count;
}
