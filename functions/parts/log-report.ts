import type { MiddlewareObj } from "@middy/core";
import { logText } from "#core/log-text.ts";
import { buildOrphanFacts, type ObjectReport, type Report } from "#core/report.ts";

/** One log line: `LogLine` of the core without the time. */
export type LogLine = Readonly<Record<string, unknown>>;

/** Writes one line; must not throw. */
export type Log = (line: LogLine) => void;

/**
 * Writes the report to the log: one line for each object that was changed, skipped or will be retried, and
 * one for the batch with counts, durations and usage. A batch that failed as a whole has one line with the
 * error's message.
 */
export function logReport(log: Log = () => undefined): MiddlewareObj<unknown, Report> {
  return {
    after(request) {
      const report = request.response;
      if (!report) return;
      const { cluster, controller, id: eventId, objects, durations, usage } = report;
      const common = { cluster, controller, eventId };
      for (const object of objects) {
        if (object.outcome === "unchanged") continue;
        log({ level: selectLogLevel(object), event: "Object", ...common, ...selectLogFields(object) });
      }
      for (const orphan of buildOrphanFacts(objects))
        log({ level: "warn", event: "OrphanedLoadBalancer", ...common, ...orphan });
      const { awsRequestId: requestId } = request.context;
      const counts = { objects: objects.length, outcomes: countOutcomes(objects) };
      const handedBack = report.handedBack?.next.kind;
      log({ level: "info", event: "Report", ...common, requestId, ...counts, handedBack, durations, usage });
    },
    onError(request) {
      const { name, message } = request.error ?? new Error("no error was given");
      const { awsRequestId: requestId } = request.context;
      log({ level: "error", event: "InvocationFailed", requestId, code: name, message });
    },
  };
}

/**
 * A log line leaves out the full decision, which the report has, the fields for the relay alone, and orphans,
 * which have their own lines.
 */
export function logToStandardOutput(line: LogLine): void {
  process.stdout.write(`${logText(line, new Date())}\n`);
}

function selectLogLevel(object: ObjectReport): "info" | "warn" {
  return object.outcome === "retry" ? "warn" : "info";
}

// A decision holds the whole of what would be written; the report has it, a log line need not. Nor what is
// for the relay alone. Orphans have lines of their own.
function selectLogFields({
  decision: _,
  seen: _seen,
  said: _said,
  orphans: _orphans,
  candidates: _candidates,
  ...object
}: ObjectReport): Omit<ObjectReport, "decision" | "seen" | "said" | "orphans" | "candidates"> {
  return object;
}

function countOutcomes(objects: readonly ObjectReport[]): Readonly<Record<ObjectReport["outcome"], number>> {
  const counts = { changed: 0, unchanged: 0, skipped: 0, retry: 0 };
  for (const object of objects) counts[object.outcome] += 1;
  return counts;
}
