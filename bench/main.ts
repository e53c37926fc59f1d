import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { FlagsError, HELP, readFlags, selectHostileArguments } from "#bench/flags.ts";
import { describeMachine } from "#bench/machine.ts";
import type { Measurement, Results } from "#bench/measurement.ts";
import { type PlannedRun, planRuns } from "#bench/plan.ts";
import { getPrograms } from "#bench/programs.ts";
import { getPercentile } from "#bench/report/percentile.ts";
import { writeReport } from "#bench/report/write.ts";
import { CONTENDER_BY_NAME, ROWS } from "#bench/rows.ts";
import { runOnce } from "#bench/run-once.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

// The bench: contenders in rows, round by round, and then measurements without a cluster full of new nodes.
// See README.md.

/** Milliseconds of each call to EC2, as from a machine in the same region. */
const CLOUD_LATENCY_MS = 60;

/**
 * The time limit of a run in milliseconds, with or without all nodes: the slowest row here takes three
 * minutes.
 */
const LIMIT_MS = 10 * 60_000;

/**
 * Measurements outside the rows, each by a program that writes its own files; the last one reads those of the
 * others.
 */
const FURTHER = [
  ["cold-start.ts"],
  ["idle.ts", "--clusters", "1", "--real", "1"],
  ["idle.ts"],
  ["measured.ts"],
] as const;

try {
  const hostile = selectHostileArguments(process.argv.slice(2));
  const flags = hostile === undefined ? readFlags(process.argv.slice(2)) : undefined;
  if (hostile !== undefined) await runHostile(hostile);
  else if (flags === undefined) process.stdout.write(HELP);
  else await runBench(flags);
} catch (error) {
  if (!(error instanceof FlagsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

async function runBench(flags: NonNullable<ReturnType<typeof readFlags>>): Promise<void> {
  const programs = await getPrograms(say);
  const machine = await describeMachine(programs, CLOUD_LATENCY_MS);
  const runs = planRuns(ROWS, flags);
  const rows = ROWS.filter(({ row }) => runs.some((run) => run.row.id === row.id));
  const notes = rows.flatMap(({ row, note }) => (note === undefined ? [] : [`${row.id}: ${note}`]));
  const measurements: Measurement[] = [];
  for (const [index, run] of runs.entries()) {
    const { row, repetition } = run;
    const contender = CONTENDER_BY_NAME[run.contender];
    try {
      const options = {
        row,
        contender,
        repetition,
        programs,
        cloudLatencyMs: CLOUD_LATENCY_MS,
        limitMs: LIMIT_MS,
      };
      const measurement = await runOnce(options);
      measurements.push(measurement);
      say(`${index + 1}/${runs.length} ${formatMeasurement(measurement)}`);
    } catch (error) {
      // A failed run must not lose the results of an hour.
      const message = `${formatRunName(run)} broke: ${getErrorMessage(error)}`;
      notes.push(message);
      say(`${index + 1}/${runs.length} ${message}`);
    }
    const results: Results = { machine, rows: rows.map((each) => each.row), measurements };
    await writeReport(flags.folder, results, notes);
  }
  if (flags.whole) for (const [program, ...args] of FURTHER) await runFurther(program, args);
  say(`written to ${flags.folder}/results.md`);
}

async function runFurther(program: string, args: readonly string[]): Promise<void> {
  say(`running ${program} …`);
  const path = fileURLToPath(new URL(program, import.meta.url));
  const running = startProcess(process.execPath, [path, ...args]);
  if ((await running.exited) !== 0) say(`${program} broke: ${running.output()}`);
}

/** Its output is the requested result, so it goes where this program's own output goes. */
async function runHostile(args: readonly string[]): Promise<void> {
  const path = fileURLToPath(new URL("hostile.ts", import.meta.url));
  const running = spawn(process.execPath, [path, ...args], { stdio: "inherit" });
  const [code] = await once(running, "exit");
  process.exitCode = typeof code === "number" ? code : 1;
}

function formatRunName({ row, contender, repetition }: PlannedRun): string {
  return `${row.id} ${contender} #${repetition + 1}`;
}

function formatMeasurement(measurement: Measurement): string {
  const { row, contender, repetition, latenciesMs, totalMs, nakedNodes, missingNodes } = measurement;
  const at = (share: number): string => `${Math.round(getPercentile(latenciesMs, share) ?? 0)} ms`;
  const parts = [
    `all up after ${(totalMs / 1000).toFixed(1)} s`,
    `p50 ${at(0.5)}, p99 ${at(0.99)}`,
    `${nakedNodes} naked`,
    ...(missingNodes === 0 ? [] : [`${missingNodes} missing`]),
    `${measurement.cloudCalls} calls to EC2 (${measurement.cloudThrottled} throttled)`,
    `${measurement.nodeWrites} writes, ${measurement.eventWrites} Events, ${measurement.tooManyRequests} × 429`,
    `CPU ${measurement.cpuSeconds.contender.toFixed(1)} s, kube-apiserver ${measurement.cpuSeconds.kubeApiserver.toFixed(1)} s`,
    `${Math.round(measurement.peakMemoryMiB)} MiB`,
  ];
  return `${row} ${contender} #${repetition + 1}: ${parts.join("; ")}`;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
