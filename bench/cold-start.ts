import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import * as z from "zod";
import { measureColdStart } from "#bench/cold-start/measure.ts";
import { formatColdStarts } from "#bench/cold-start/report.ts";
import { formatPageHead } from "#bench/report/wrap-paragraph.ts";

// Measures the size of each function and the time from its process's start to its first decision: `node
// bench/cold-start.ts`. Writes bench/cold-start.json, and bench/cold-start.md from it.

const RESULTS = new URL("cold-start.json", import.meta.url);
const SECTION = new URL("cold-start.md", import.meta.url);

const HEAD = formatPageHead(
  "Cold starts",
  "For engineers who add code to a function. This page has the size of its bundle, and the time from its start to its first node. `node bench/cold-start.ts` writes it.",
);

const { values } = parseArgs({ options: { rounds: { type: "string", default: "15" } } });
const rounds = z.coerce.number().int().min(1).max(1_000).parse(values.rounds);
const folder = await mkdtemp(join(tmpdir(), "serverless-ccm-cold-start-"));
try {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const results = await measureColdStart({ folder, rounds, say });
  const section = formatColdStarts(results);
  await writeFile(fileURLToPath(RESULTS), `${JSON.stringify(results, undefined, 2)}\n`);
  await writeFile(fileURLToPath(SECTION), `${HEAD}${section}`);
  process.stdout.write(section);
} finally {
  await rm(folder, { recursive: true, force: true });
}
