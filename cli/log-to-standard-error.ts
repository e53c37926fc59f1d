import { logText } from "#core/log-text.ts";

/** A worker's own line: standard error is the main thread's, where its lines go, too. */
export function logToStandardError(line: Readonly<Record<string, unknown>>): void {
  process.stderr.write(`${logText(line, new Date())}\n`);
}
