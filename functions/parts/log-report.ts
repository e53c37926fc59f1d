import type { MiddlewareObj } from "@middy/core";
import type { ObjectReport, Report } from "#core/report.ts";

/** One line of a log, as JSON: the report's own fields beside what tells invocations apart. */
export type LogLine = Readonly<Record<string, unknown>>;

/** Takes one line; must not throw. */
export type Log = (line: LogLine) => void;

/**
 * Writes the report to the log: a line for each object that was changed, skipped or is to be tried again, and one for the
 * batch with the counts, durations and usage. A batch that failed as a whole is one line with the error's words.
 */
export function logReport(log: Log = () => undefined): MiddlewareObj<unknown, Report> {
  return {
    after(request) {
      const report = request.response;
      if (!report) return;
      const common = { cluster: report.cluster, controller: report.controller, event: report.id };
      for (const object of report.objects) {
        if (object.outcome !== "unchanged")
          log({ level: levelOf(object), ...common, ...withoutDecision(object) });
      }
      const { durations, usage } = report;
      const counts = countOutcomes(report.objects);
      log({
        level: "info",
        message: "batch",
        ...common,
        requestId: request.context.awsRequestId,
        ...counts,
        durations,
        usage,
      });
    },
    onError(request) {
      const { name, message } = request.error ?? new Error("no error was given");
      log({ level: "error", message, error: name, requestId: request.context.awsRequestId });
    },
  };
}

/** The log of a function platform: one line of JSON on standard output. */
export function logToStandardOutput(line: LogLine): void {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), ...line })}\n`);
}

function levelOf(object: ObjectReport): "info" | "warn" {
  return object.outcome === "retry" ? "warn" : "info";
}

// A decision holds the whole of what would be written; the report has it, a log line need not.
function withoutDecision({ decision: _, ...object }: ObjectReport): Omit<ObjectReport, "decision"> {
  return object;
}

function countOutcomes(objects: readonly ObjectReport[]): Readonly<Record<ObjectReport["outcome"], number>> {
  const counts = { changed: 0, unchanged: 0, skipped: 0, retry: 0 };
  for (const object of objects) counts[object.outcome] += 1;
  return counts;
}
