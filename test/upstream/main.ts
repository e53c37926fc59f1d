import { readdir, readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { formatRows, judgeRows, listFirstCells } from "#test/upstream/judge-rows.ts";
import { buildPageLine, PAGE, type PageLine, replacePageLines } from "#test/upstream/page.ts";
import type { UpstreamSuite } from "#test/upstream/suite.ts";
import { SUITES } from "#test/upstream/suites.ts";

// `npm run test:upstream -- [SUITE …] [--write-page]`: Kubernetes' own tests of a cloud-controller-manager,
// against the stock controller and against serverless-ccm. Prints a table for each suite. A difference that no
// row of docs/explanation/differences*.md explains is a failure. With CI=true, so is a suite that cannot run.
// --write-page writes the results of suites that passed into docs/reference/upstream.md.

const EXPLANATIONS = new URL("../../docs/explanation/", import.meta.url);

type Outcome = "failed" | "skipped" | PageLine;

async function main(): Promise<number> {
  const { values, positionals: chosen } = parseArgs({
    allowPositionals: true,
    options: { "write-page": { type: "boolean", default: false } },
  });
  const names = SUITES.map(({ name }) => name);
  const unknown = chosen.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`no suite ${unknown.join(", ")}; choose from ${names.join(", ")}\n`);
    return 2;
  }
  const documented = await readDocumented();
  const outcomes: Outcome[] = [];
  for (const suite of SUITES) {
    if (chosen.length === 0 || chosen.includes(suite.name)) outcomes.push(await runSuite(suite, documented));
  }
  const passed = outcomes.filter((outcome) => typeof outcome !== "string");
  if (values["write-page"])
    await writeFile(PAGE, replacePageLines(await readFile(PAGE, "utf8"), passed, names));
  const count = (outcome: Outcome): number => outcomes.filter((each) => each === outcome).length;
  say(`${passed.length} passed, ${count("failed")} failed, ${count("skipped")} skipped`);
  return count("failed") > 0 ? 1 : 0;
}

/** Runs a suite and prints its table; returns its line in the page if it passed. */
async function runSuite(suite: UpstreamSuite, documented: ReadonlySet<string>): Promise<Outcome> {
  say(`\n== ${suite.name}: ${suite.source} ${suite.version}`);
  const startedAt = performance.now();
  try {
    const rows = await suite.run((line) => void process.stderr.write(`${suite.name}: ${line}\n`));
    if (rows.kind === "missing") {
      const isFailure = process.env["CI"] === "true";
      say(`${suite.name} is ${isFailure ? "missing" : "skipped"}: ${rows.because}`);
      return isFailure ? "failed" : "skipped";
    }
    say(`\n${formatRows(rows.value)}\n`);
    const judgement = judgeRows(rows.value, documented);
    const { passed, explained, notRunnable, problems } = judgement;
    for (const problem of problems) say(`FAILED ${problem}`);
    for (const { test, detail } of rows.value) if (detail !== undefined) say(`${test}:\n${detail}`);
    const counts = [`${passed} passed`, `${explained} explained`, `${notRunnable} not runnable`];
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    say(`${suite.name}: ${counts.join(", ")}, ${problems.length} failed (${seconds} s)`);
    return problems.length > 0 ? "failed" : buildPageLine(suite, judgement, new Date());
  } catch (error) {
    say(`FAILED ${suite.name}: ${getErrorMessage(error)}`);
    return "failed";
  }
}

/** Reads the first cells of the tables about differences. */
async function readDocumented(): Promise<ReadonlySet<string>> {
  const pages = (await readdir(EXPLANATIONS)).filter((name) => /^differences.*\.md$/.test(name));
  const texts = await Promise.all(pages.map((name) => readFile(new URL(name, EXPLANATIONS), "utf8")));
  return new Set(texts.flatMap(listFirstCells));
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await main();
