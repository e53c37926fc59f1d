import { fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";
import type { OperationResult } from "./enumerate.ts";
import { createKubeApiserverStage, type StagePlane } from "./stage.ts";
import { loadTable } from "./tables.ts";

// `npm run test:crash-consistency`: the whole table of AWS, or of another cloud with --cloud. --operation
// selects operations by a word in their name, --every selects each n-th disturbance, and --kube-apiserver
// uses a real API server. Processes share the operations, because the SDK finds its endpoint in the
// environment of a process: two, or as many as --processes says.

/** Seconds that the whole table of AWS may take on two idle cores. */
const BUDGET_SECONDS = 480;

/** Problems that are printed for each operation, at most. */
const MAX_PROBLEMS = 5;
const MAX_CHARACTERS = 600;

const { values } = parseArgs({
  options: {
    cloud: { type: "string", multiple: true, default: ["aws"] },
    operation: { type: "string", multiple: true },
    every: { type: "string", default: "1" },
    processes: { type: "string", default: "2" },
    "kube-apiserver": { type: "boolean", default: false },
    worker: { type: "boolean" },
  },
});
const [cloud = "", ...others] = values.cloud;
if (others.length > 0) throw new Error(`--cloud ${cloud} and ${others.join(", ")}: one table at a time`);
const table = await loadTable(cloud);
const all = values["kube-apiserver"] ? table.namesOnKubeApiserver : table.names;
const operations = all.filter((name) => values.operation?.some((word) => name.includes(word)) ?? true);
if (operations.length === 0) throw new Error(`no operation's name holds ${values.operation?.join(" or ")}`);
await (values.worker === true ? work() : hand());

/** Plays the operations that arrive until the other side closes. */
async function work(): Promise<void> {
  const running = await table.start(await startPlane());
  process.send?.("ready");
  for await (const [index] of messages()) {
    const operation = operations[Number(index)];
    if (operation === undefined) break;
    const chosen = (_: unknown, at: number): boolean => at % Number(values.every) === 0;
    process.send?.(await running.enumerate(operation, { chosen }));
  }
  await running.close();
  process.disconnect();
}

async function startPlane(): Promise<((folder: string) => Promise<StagePlane>) | undefined> {
  if (!values["kube-apiserver"]) return undefined;
  const binaries = await getControlPlaneBinaries((line) => process.stderr.write(`${line}\n`));
  if (binaries.kind === "missing") throw new Error(`there is no real API server: ${binaries.because}`);
  return createKubeApiserverStage(binaries.value);
}

async function* messages(): AsyncGenerator<unknown[]> {
  while (true) yield await once(process, "message");
}

/** Distributes the operations and prints their results in order. */
async function hand(): Promise<void> {
  const startedAt = performance.now();
  const results: (OperationResult | undefined)[] = operations.map(() => undefined);
  let next = 0;
  let printed = 0;
  print([
    "operation",
    "k cloud",
    "k cluster",
    "runs",
    "same state",
    "orphans",
    "foreign touched",
    "invocations ≤",
  ]);
  print(["---", "---:", "---:", "---:", "---:", "---:", "---:", "---:"]);
  await Promise.all(
    Array.from({ length: Math.min(Number(values.processes), operations.length) }, async () => {
      const worker = fork(import.meta.filename, [...process.argv.slice(2), "--worker"]);
      const gone = once(worker, "exit");
      await Promise.race([once(worker, "message"), gone]);
      while (next < operations.length && worker.exitCode === null) {
        const index = next;
        next += 1;
        worker.send(index);
        const [result] = (await Promise.race([once(worker, "message"), gone])) as [OperationResult | number];
        if (typeof result !== "object") break;
        results[index] = result;
        for (; results[printed] !== undefined; printed += 1) printResult(results[printed] as OperationResult);
      }
      if (worker.connected) worker.send(-1);
      await gone;
    }),
  );
  const all = results.filter((result) => result !== undefined);
  const failed = all.filter(({ issues }) => issues.length > 0).length + operations.length - all.length;
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const runs = all.reduce((sum, result) => sum + result.runs, 0);
  process.stdout.write(`\n${runs} runs in ${seconds} s of a budget of ${BUDGET_SECONDS} s\n`);
  process.stdout.write(`${operations.length - failed} passed, ${failed} failed\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}

function printResult(result: OperationResult): void {
  const { operation, cloudChanges, clusterChanges, runs, same, orphans, foreignTouched, mostInvocations } =
    result;
  print([operation, cloudChanges, clusterChanges, runs, same, orphans, foreignTouched, mostInvocations]);
  for (const issue of result.issues.slice(0, MAX_PROBLEMS))
    process.stdout.write(`    FAILED: ${issue.slice(0, MAX_CHARACTERS)}\n`);
  if (result.issues.length > MAX_PROBLEMS)
    process.stdout.write(`    … and ${result.issues.length - MAX_PROBLEMS} more\n`);
}

function print(cells: readonly (string | number)[]): void {
  process.stdout.write(`| ${cells.join(" | ")} |\n`);
}
