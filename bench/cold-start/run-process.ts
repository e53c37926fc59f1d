import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as z from "zod";
import { Report } from "#core/report.ts";

const run = promisify(execFile);

/** A moment in the life of a process, in milliseconds since it started: by the clock, and of CPU, user and system. */
export const Moment = z.object({ wallMs: z.number(), cpuMs: z.number() });
export type Moment = z.output<typeof Moment>;

type Environment = Readonly<Record<string, string | undefined>>;

/** Imports the files in a new process, one after the other; returns the moment after the last import. */
export async function importInNewProcess(
  files: readonly string[],
  environment: Environment,
): Promise<Moment> {
  return Moment.parse(await readLastLine(fileURLToPath(IMPORT), files, environment));
}

/**
 * Runs a function with an event in a new process; returns the moment of its report. Rejects unless the
 * outcome is `changed`.
 */
export async function decideInNewProcess(
  bundle: string,
  event: unknown,
  environment: Environment,
): Promise<Moment> {
  const line = await readLastLine(fileURLToPath(DECISION), [bundle, JSON.stringify(event)], environment);
  const { report, ...moment } = Decided.parse(line);
  const outcomes = report.objects.map(({ outcome }) => outcome);
  // A run without its work must not count.
  if (outcomes.join() !== "changed")
    throw new Error(`the node was not initialized: ${JSON.stringify(report.objects)}`);
  return moment;
}

const Decided = z.object({ ...Moment.shape, report: Report });
const IMPORT = new URL("probe-import.mjs", import.meta.url);
const DECISION = new URL("probe-decision.mjs", import.meta.url);
const TIMEOUT_MS = 60_000;

/** The function's own log is on standard output too, before the wanted line. */
async function readLastLine(
  program: string,
  args: readonly string[],
  environment: Environment,
): Promise<unknown> {
  const { stdout } = await run(process.execPath, [program, ...args], {
    env: environment,
    timeout: TIMEOUT_MS,
  });
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
}
