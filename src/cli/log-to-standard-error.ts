import { logText } from "#core/log-text.ts";

/**
 * Writes a worker's log line to standard error, which belongs to the main thread and has its log lines as
 * well.
 */
export function logToStandardError(line: Readonly<Record<string, unknown>>): void {
  process.stderr.write(`${logText(line, new Date())}\n`);
}
