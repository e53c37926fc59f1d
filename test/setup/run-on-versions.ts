import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { readVersion } from "#test/setup/control-plane-build.ts";

// `npm run test:versions`: runs the tests of API server behaviour on the oldest and the newest supported
// version, in sequence. `npm run test:versions -- 1.34` runs one of them. The last line has the total counts.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/**
 * The contracts of the API server first, then the suites: answers, watches and writes, nodes, crashes and
 * rights.
 */
const SUITES = [
  "test/emulators/kube-apiserver",
  "test/kube/follow/watch-kube-apiserver",
  "test/kube/apply/write-kube-apiserver",
  "test/cli/infra",
  "test/functions/rounds-kube-apiserver",
  "test/functions/csr-kube-apiserver",
  "test/functions/service-kube-apiserver",
  "test/functions/route-kube-apiserver",
  "test/functions/tagging-kube-apiserver",
  "policy.test",
  "test/sweep/sweep-roles",
  "test/e2e/nodes",
  "test/e2e/kills",
  "test/e2e/roles",
  "test/e2e/lifecycle-roles",
  "test/e2e/csr-approver",
];

/**
 * The characters that are kept of a run's output; its last line comes from test/setup/summary-reporter.ts.
 */
const MAX_END = 10_000;

interface Counts {
  readonly passed: number;
  readonly failed: number;
}

const chosen = process.argv.slice(2);
const minors = chosen.length > 0 ? chosen : await minorsThereAre();
let total: Counts = { passed: 0, failed: 0 };
for (const minor of minors) {
  const version = await readVersion(minor);
  process.stdout.write(`\nkube-apiserver ${version}\n`);
  const counts = await runSuites(minor);
  process.stdout.write(`kube-apiserver ${version}: ${inWords(counts)}\n`);
  total = { passed: total.passed + counts.passed, failed: total.failed + counts.failed };
}
process.exitCode = total.failed > 0 ? 1 : 0;
process.stdout.write(`${inWords(total)}\n`);

/** Returns the minors with a module besides the default one, oldest first. */
async function minorsThereAre(): Promise<string[]> {
  const names = await readdir(`${ROOT}/test/control-plane/versions`);
  return names.sort((a, b) => Number(a.split(".")[1]) - Number(b.split(".")[1]));
}

function runSuites(minor: string): Promise<Counts> {
  const environment = { ...process.env, KUBERNETES_MINOR: minor, CI: "true" };
  const args = [
    "run",
    "--mode",
    "release",
    "--project",
    "shell",
    "--project",
    "e2e",
    "--project",
    "counted",
    ...SUITES,
  ];
  const running = spawn("vitest", args, {
    cwd: ROOT,
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.once("exit", () => running.kill());
  let end = "";
  running.stdout.on("data", (chunk: Buffer) => {
    process.stdout.write(chunk);
    end = (end + chunk.toString("utf8")).slice(-MAX_END);
  });
  return new Promise((resolve, reject) => {
    running.once("error", reject);
    running.once("close", (code) => resolve(countsOf(end, code)));
  });
}

function countsOf(end: string, code: number | null): Counts {
  const [, passed, failed] = /(\d+) passed, (\d+) failed(?:, \d+ skipped)?\s*$/.exec(end) ?? [];
  if (passed === undefined) return { passed: 0, failed: 1 };
  // A run that fails for another reason than its tests counts as failed, too.
  return { passed: Number(passed), failed: Math.max(Number(failed), code === 0 ? 0 : 1) };
}

function inWords({ passed, failed }: Counts): string {
  return `${passed} passed, ${failed} failed`;
}
