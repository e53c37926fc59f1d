import { spawn } from "node:child_process";
import { TABLES } from "#test/crash-consistency/tables.ts";

// `npm run test:release`: every suite there is, whole, one after the other. It takes hours and two cores.
// Names on the command line choose suites: `npm run test:release -- model upgrade`. The last line counts
// suites.

/** The suites by name: an npm script, and its arguments. */
const SUITES: Readonly<Record<string, readonly [script: string, ...args: string[]]>> = {
  tests: ["test", "--mode", "release"],
  versions: ["test:versions"],
  faults: ["test:faults"],
  platforms: ["test:platforms"],
  clouds: ["test:clouds"],
  ...Object.fromEntries(
    Object.keys(TABLES).map((cloud) => [
      `crash-consistency-${cloud}`,
      ["test:crash-consistency", "--cloud", cloud] as const,
    ]),
  ),
  fuzz: ["test:fuzz", "--steps", "100000"],
  model: ["test:model", "--seeds", "2000"],
  tenants: ["test:model", "--tenants", "--seeds", "200"],
  "two-actors": ["test:two-actors", "--runs", "100"],
  "two-actors-kube-apiserver": ["test:two-actors", "--runs", "20", "--kube-apiserver"],
  sharding: ["test:sharding"],
  handover: ["test:handover"],
  differential: ["test:differential", "--seeds", "50"],
  interop: ["test:interop"],
  upstream: ["test:upstream"],
  upgrade: ["test:upgrade"],
};

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !Object.hasOwn(SUITES, name));
if (unknown.length > 0) {
  process.stderr.write(`no suite ${unknown.join(", ")}; choose from ${Object.keys(SUITES).join(", ")}\n`);
  process.exit(2);
}

const results: { readonly name: string; readonly hasPassed: boolean; readonly seconds: number }[] = [];
for (const [name, [script, ...args]] of Object.entries(SUITES)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  process.stdout.write(`\n== ${name}: npm run ${script} -- ${args.join(" ")}\n`);
  const startedAt = performance.now();
  const hasPassed = await runScript(script, args);
  results.push({ name, hasPassed, seconds: Math.round((performance.now() - startedAt) / 1000) });
}
process.stdout.write("\n");
for (const { name, hasPassed, seconds } of results)
  process.stdout.write(`${hasPassed ? "passed" : "FAILED"} ${name} (${seconds} s)\n`);
const failed = results.filter(({ hasPassed }) => !hasPassed).length;
process.exitCode = failed > 0 ? 1 : 0;
process.stdout.write(`${results.length - failed} passed, ${failed} failed\n`);

function runScript(script: string, args: readonly string[]): Promise<boolean> {
  const running = spawn("npm", ["run", script, "--", ...args], {
    cwd: new URL("..", import.meta.url),
    stdio: ["ignore", "inherit", "inherit"],
  });
  process.once("exit", () => running.kill());
  return new Promise((resolve) => {
    running.once("error", () => resolve(false));
    running.once("close", (code) => resolve(code === 0));
  });
}
