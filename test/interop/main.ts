import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { getNeighbourPrograms, type NeighbourPrograms } from "#test/interop/programs.ts";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";

/** The number of instance addresses in the network. */
const INSTANCES = 24;

/** Prepares what the suite needs and runs it in its own network; returns the exit code. */
async function main(): Promise<number> {
  if (process.platform !== "linux") return skip("network namespaces are Linux's alone");
  const plane = await getControlPlaneBinaries(say);
  if (plane.kind === "missing") return skip(plane.because);
  let programs: NeighbourPrograms;
  try {
    programs = await getNeighbourPrograms(say);
  } catch (error) {
    return skip(`Go could not build them: ${getErrorMessage(error)}`);
  }
  // Uses a user namespace if this user is not root.
  const namespaces = ["--net", "--mount", ...(process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"])];
  if ((await run("unshare", [...namespaces, "true"])) !== 0) {
    return skip("this user may make no network namespace (unshare --net --mount)");
  }
  const folder = await mkdtemp(join(tmpdir(), "neighbours-"));
  try {
    const suite = [fileURLToPath(new URL("network.sh", import.meta.url)), folder, `${INSTANCES}`];
    suite.push(process.execPath, VITEST, "run", "--config", "test/interop/vitest.config.ts");
    suite.push(...process.argv.slice(2));
    const given = { ...programs, ...plane.value };
    return await run("unshare", [...namespaces, "sh", ...suite], {
      NEIGHBOURS_PROGRAMS: JSON.stringify(given),
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const VITEST = join(ROOT, "node_modules/vitest/vitest.mjs");

/** Prints why nothing runs; with CI=true that is a failure. */
function skip(because: string): number {
  const isFailure = process.env["CI"] === "true";
  process.stdout.write(`the neighbours' suite is skipped: ${because}\n`);
  process.stdout.write(isFailure ? "0 passed, 1 failed\n" : "0 passed, 0 failed, 1 skipped\n");
  return isFailure ? 1 : 0;
}

function run(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      env: { ...process.env, ...environment },
      stdio: "inherit",
    });
    child.once("error", () => resolve(1));
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

function say(line: string): void {
  process.stderr.write(`test setup: ${line}\n`);
}

process.exitCode = await main();
