import { readFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { buildAllFunctions, bundleAsFunction, bundleToOneFile } from "#bench/cold-start/bundles.ts";
import {
  type ColdStart,
  type ColdStartResults,
  EMPTY_HANDLER,
  ONE_CLIENT,
  ONE_CLIENT_BY_DEFAULT,
  ONE_CLIENT_OF_MODULES,
  WHOLE_CLIENTS,
} from "#bench/cold-start/measurement.ts";
import { decideInNewProcess, importInNewProcess, type Moment } from "#bench/cold-start/run-process.ts";
import { type ColdStartStage, setColdStartStage } from "#bench/cold-start/stage.ts";

export interface ColdStartOptions {
  /** For bundles and the cluster's files. It must exist and be empty; the caller removes it. */
  readonly folder: string;
  readonly rounds: number;
  readonly say: (line: string) => void;
}

/**
 * Starts every function and its comparisons once a round, so that a process slowed by the machine is one of
 * many.
 */
export async function measureColdStart({ folder, rounds, say }: ColdStartOptions): Promise<ColdStartResults> {
  const [loadAverage = ""] = (await readFile("/proc/loadavg", "utf8")).split(" ", 1);
  const startedAt = new Date().toISOString();
  const stage = await setColdStartStage(folder);
  try {
    const contenders = await buildContenders(stage, join(folder, "bundles"));
    const starts: (ColdStart & { wallMs: number[]; cpuMs: number[] })[] = contenders.map(({ row }) => ({
      ...row,
      wallMs: [],
      cpuMs: [],
    }));
    // The first round fills the file system's caches, and does not count.
    for (let round = -1; round < rounds; round += 1) {
      for (const [index, { start }] of contenders.entries()) {
        const { wallMs, cpuMs } = await start();
        if (round < 0) continue;
        starts[index]?.wallMs.push(rounded(wallMs));
        starts[index]?.cpuMs.push(rounded(cpuMs));
      }
      say(`round ${round + 1} of ${rounds}`);
    }
    const [firstCpu] = cpus();
    return {
      startedAt,
      cpu: firstCpu?.model ?? "unknown",
      cores: cpus().length,
      node: process.version,
      loadAverage: Number(loadAverage),
      starts,
    };
  } finally {
    await stage.close();
  }
}

interface Contender {
  readonly row: Pick<ColdStart, "name" | "minifiedBytes" | "zipBytes">;
  readonly start: () => Promise<Moment>;
}

async function buildContenders(stage: ColdStartStage, folder: string): Promise<readonly Contender[]> {
  // Without a clusters file a function prepares nothing.
  const { CLUSTERS_FILE: _, ...bare } = stage.environment;
  const importing = (files: readonly string[]) => () => importInNewProcess(files, bare);
  const references = await Promise.all(
    [
      { name: EMPTY_HANDLER, bundled: bundleAsFunction("empty-handler", folder) },
      { name: ONE_CLIENT, bundled: bundleAsFunction("one-client", folder) },
      { name: ONE_CLIENT_OF_MODULES, bundled: bundleToOneFile("one-client", "module", folder) },
      { name: ONE_CLIENT_BY_DEFAULT, bundled: bundleToOneFile("one-client", "main", folder) },
      { name: WHOLE_CLIENTS, bundled: bundleToOneFile("whole-clients", "main", folder) },
    ].map(async ({ name, bundled }): Promise<Contender> => {
      const { entry, minifiedBytes } = await bundled;
      return { row: { name, minifiedBytes }, start: importing([entry]) };
    }),
  );
  const functions = (await buildAllFunctions(folder)).flatMap(
    ({ name, entry, cloud, minifiedBytes, zipBytes }): Contender[] => [
      {
        row: { name: `${name}: its code, AWS included`, minifiedBytes, zipBytes },
        start: importing(cloud === undefined ? [entry] : [entry, cloud]),
      },
      {
        row: { name: `${name}: initialized, its clusters read` },
        start: () => importInNewProcess([entry], stage.environment),
      },
      {
        row: { name: `${name}: first node decided, written and reported` },
        start: async () => decideInNewProcess(entry, await stage.eventOfNewNode(), stage.environment),
      },
    ],
  );
  return [...references.slice(0, 1), ...functions, ...references.slice(1)];
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
