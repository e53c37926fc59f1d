import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import * as z from "zod";
import { measureIdle } from "#bench/idle/measure.ts";
import { type IdleMeasurement, IdleResults } from "#bench/idle/measurement.ts";
import { formatIdle } from "#bench/idle/report.ts";
import { getPrograms } from "#bench/programs.ts";
import { formatPageHead } from "#bench/report/wrap-paragraph.ts";
import { buildCommandLine, buildFunctions } from "../build/build.ts";
import { ROOT } from "../build/bundle.ts";

// Measures what a relay costs while there is no work: `node bench/idle.ts --clusters 100 --nodes 50`. Results
// are kept by numbers of clusters and nodes in bench/idle.json, and rendered to bench/idle.md.

const count = z.coerce.number().int().positive();
const Flags = z
  .strictObject({
    clusters: count.default(100),
    nodes: count.default(50),
    /** The number of clusters on kube-apiservers. */
    real: count.default(2),
    seconds: count.default(120),
    /** Seconds between two status reports of one node. */
    heartbeat: count.default(300),
    "no-stock": z.boolean().default(false),
  })
  .refine(({ real, clusters }) => real <= clusters, {
    message: "more than there are clusters",
    path: ["real"],
  });

const RESULTS = fileURLToPath(new URL("idle.json", import.meta.url));
const SECTION = fileURLToPath(new URL("idle.md", import.meta.url));

const HEAD = formatPageHead(
  "An idle relay",
  "For operators who plan a relay's memory and CPU. This page has what a relay takes while its clusters need no work, beside the stock controller. `node bench/idle.ts` writes it.",
);

const text = { type: "string" } as const;
const { values } = parseArgs({
  options: {
    clusters: text,
    nodes: text,
    real: text,
    seconds: text,
    heartbeat: text,
    "no-stock": { type: "boolean" },
  },
});
const parsed = Flags.safeParse(values);
if (!parsed.success) {
  process.stderr.write(`${z.prettifyError(parsed.error)}\n`);
  process.exit(2);
}
const flags = parsed.data;
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());

await Promise.all([buildFunctions(`${ROOT}/dist`), buildCommandLine(`${ROOT}/dist`)]);
const measurement = await measureIdle({
  programs: await getPrograms(say),
  clusters: flags.clusters,
  kubeApiservers: flags.real,
  nodesEach: flags.nodes,
  heartbeatSeconds: flags.heartbeat,
  seconds: flags.seconds,
  stock: !flags["no-stock"],
  signal: stopping.signal,
  say,
});
const results = replaceMeasurement(await readResults(), measurement);
await writeFile(RESULTS, `${JSON.stringify(results, undefined, 2)}\n`);
await writeFile(SECTION, `${HEAD}${formatIdle(results)}`);
process.stdout.write(formatIdle({ measurements: [measurement] }));

async function readResults(): Promise<IdleResults> {
  try {
    return IdleResults.parse(JSON.parse(await readFile(RESULTS, "utf8")));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return { measurements: [] };
    throw error;
  }
}

/** Replaces the measurement with the same numbers of clusters and nodes. */
function replaceMeasurement({ measurements }: IdleResults, newest: IdleMeasurement): IdleResults {
  const key = ({ clusters, nodesEach }: IdleMeasurement): number => clusters * 1e6 + nodesEach;
  const others = measurements.filter((each) => key(each) !== key(newest));
  return { measurements: [...others, newest].sort((a, b) => key(b) - key(a)) };
}
