import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { stockVersion } from "#bench/programs.ts";
import { Measured } from "#core/cost/measured.ts";

// Writes cli/cost/measured.json: what the cost model knows of the programs. Run `npm run build` first, on a quiet machine; it
// takes ten minutes. --function and --standing name files with what bench/invocation.ts and bench/standing.ts have printed
// already, on this machine and today.

const MEASURED = fileURLToPath(new URL("../cli/cost/measured.json", import.meta.url));

const { values } = parseArgs({ options: { function: { type: "string" }, standing: { type: "string" } } });
const functionPart = await partOf(values.function, "invocation.ts");
const standingPart = await partOf(values.standing, "standing.ts");
const [cpu] = cpus();
const measured = Measured.parse({
  date: new Date().toISOString().slice(0, 10),
  machine: `${cpus().length} cores of ${cpu?.model.trim()} with ${Math.round(totalmem() / 2 ** 30)} GiB`,
  versions: {
    node: process.versions.node,
    "aws-cloud-controller-manager": await stockVersion(),
    "serverless-ccm": await commit(),
  },
  function: functionPart,
  ...(standingPart as object),
});
await writeFile(MEASURED, `${JSON.stringify(measured, undefined, 2)}\n`);

async function partOf(file: string | undefined, program: string): Promise<unknown> {
  if (file !== undefined) return JSON.parse(await readFile(file, "utf8"));
  const { stdout } = await promisify(execFile)(process.execPath, [
    fileURLToPath(new URL(program, import.meta.url)),
  ]);
  return JSON.parse(stdout);
}

async function commit(): Promise<string> {
  const { stdout } = await promisify(execFile)("git", ["rev-parse", "--short", "HEAD"]);
  return stdout.trim();
}
