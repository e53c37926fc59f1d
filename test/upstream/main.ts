import { readdir, readFile } from "node:fs/promises";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { formatRows, judgeRows, listFirstCells } from "#test/upstream/judge-rows.ts";
import type { UpstreamSuite } from "#test/upstream/suite.ts";
import { SUITES } from "#test/upstream/suites.ts";

// `npm run test:upstream -- [SUITE …]`: Kubernetes' own tests of a cloud-controller-manager, against the stock
// controller and against serverless-ccm. Prints a table for each suite. A difference that no row of
// docs/explanation/differences*.md explains is a failure. With CI=true, so is a suite that cannot run.

const EXPLANATIONS = new URL("../../docs/explanation/", import.meta.url);

type Outcome = "passed" | "failed" | "skipped";

async function main(): Promise<number> {
  const chosen = process.argv.slice(2);
  const unknown = chosen.filter((name) => !SUITES.some((suite) => suite.name === name));
  if (unknown.length > 0) {
    const names = SUITES.map(({ name }) => name).join(", ");
    process.stderr.write(`no suite ${unknown.join(", ")}; choose from ${names}\n`);
    return 2;
  }
  const documented = await readDocumented();
  const outcomes: Outcome[] = [];
  for (const suite of SUITES) {
    if (chosen.length === 0 || chosen.includes(suite.name)) outcomes.push(await runSuite(suite, documented));
  }
  const count = (outcome: Outcome): number => outcomes.filter((each) => each === outcome).length;
  say(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);
  return count("failed") > 0 ? 1 : 0;
}

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
    const { passed, explained, problems } = judgeRows(rows.value, documented);
    for (const { test, detail } of rows.value) if (detail !== undefined) say(`${test}:\n${detail}`);
    for (const problem of problems) say(`FAILED ${problem}`);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    say(`${suite.name}: ${passed} passed, ${explained} explained, ${problems.length} failed (${seconds} s)`);
    return problems.length > 0 ? "failed" : "passed";
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
