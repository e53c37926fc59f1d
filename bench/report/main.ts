#!/usr/bin/env node
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseResults, ResultsError } from "#bench/report/parse-results.ts";
import { RESULTS_FILE, writeReport } from "#bench/report/write.ts";

const HELP = `Usage: node bench/report/main.ts [folder]

Renders results.md and pictures/ again from the results.json in the folder (bench, unless told).
`;

// Exit codes: 0 written, 1 an error of the program or the disk, 2 an invalid file or command line.
try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: "boolean", short: "h" } },
  });
  if (values.help === true) process.stdout.write(HELP);
  else await render(positionals);
} catch (error) {
  if (!isNotUnderstood(error)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

async function render([folder = "bench", ...rest]: readonly string[]): Promise<void> {
  const file = join(folder, RESULTS_FILE);
  if (rest.length > 0) throw new ResultsError(file, [{ path: "", message: "give one folder" }]);
  const results = parseResults(await readText(file), file);
  await writeReport(folder, results, results.notes ?? []);
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    const message = "it cannot be read; run the benchmark, or give the folder that it wrote";
    throw new ResultsError(file, [{ path: "", message }], cause);
  }
}

function isNotUnderstood(error: unknown): error is Error {
  if (error instanceof ResultsError) return true;
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}
