import type { Report } from "#core/report.ts";
import type { RelayNote } from "#relay/report/note.ts";

/** One line of a log: a level, what happened, and the facts; JSON, and without anything secret. */
export interface OutcomeLine {
  readonly level: "info" | "warn" | "error";
  readonly event: string;
  readonly cluster: string;
  readonly [fact: string]: unknown;
}

/** How many objects' own lines one report may add; the counts say how many there were. */
const MAX_OBJECT_LINES = 20;

/** What is worth a line, of what the relay has to tell; resumed watches are not. */
export function outcomeLinesOf(note: RelayNote): readonly OutcomeLine[] {
  const { cluster } = note;
  switch (note.kind) {
    case "watch":
      return watchLines(cluster, note.note);
    case "delivered":
      return deliveryLines(note);
    case "malformed": {
      const { name, uid, faults } = note;
      return [{ level: "warn", event: "MalformedObject", cluster, name, uid, faults: faults.slice(0, 10) }];
    }
    case "taint-restored": {
      const { name, uid, rounds, manager } = note;
      const message = `the uninitialized taint came back ${rounds} times within a minute of its removal; see who restores it`;
      return [{ level: "warn", event: "TaintRestored", cluster, name, uid, rounds, manager, message }];
    }
    case "too-large":
      return [{ level: "warn", event: "ObjectTooLarge", cluster, name: note.name, uid: note.uid }];
    case "read":
      if (note.failure === undefined) return [];
      return [
        { level: "warn", event: "ReadFailed", cluster, name: note.name, ...codeAndMessage(note.failure) },
      ];
    case "refreshed":
      return [
        { level: "info", event: "Refreshed", cluster, objects: note.objects, durationMs: note.durationMs },
      ];
  }
}

function watchLines(
  cluster: string,
  note: Extract<RelayNote, { kind: "watch" }>["note"],
): readonly OutcomeLine[] {
  switch (note.kind) {
    case "listed": {
      const { cause, objects, durationMs, restarted } = note;
      return [
        {
          level: restarted ? "warn" : "info",
          event: "Listed",
          cluster,
          cause,
          objects,
          durationMs,
          restarted,
        },
      ];
    }
    case "failed":
      return [
        { level: "warn", event: "WatchFailed", cluster, ...codeAndMessage(note), retryInMs: note.delayMs },
      ];
    case "malformed":
      return [{ level: "warn", event: "MalformedObject", cluster, message: note.message }];
    case "opened":
    case "ended":
      return [];
  }
}

function deliveryLines(note: Extract<RelayNote, { kind: "delivered" }>): readonly OutcomeLine[] {
  const { cluster, delivery, startedMs, endedMs } = note;
  const { event, invocation, unnamed } = delivery;
  const facts = {
    cluster,
    id: event.id,
    controller: event.controller,
    reason: event.reason,
    objects: event.objects.length,
    invokedMs: endedMs - startedMs,
  };
  if (invocation.kind === "failed") {
    return [{ level: "warn", event: "InvocationFailed", ...facts, ...codeAndMessage(invocation) }];
  }
  const { report } = invocation;
  const outcomes = countsOf(report);
  const level = outcomes.retry > 0 || unnamed > 0 ? "warn" : "info";
  const head: OutcomeLine = {
    level,
    event: "Report",
    ...facts,
    outcomes,
    unnamed,
    durations: report.durations,
    usage: report.usage,
  };
  return [head, ...objectLines(cluster, event.id, report)];
}

function objectLines(cluster: string, id: string, report: Report): readonly OutcomeLine[] {
  return report.objects
    .filter(
      ({ outcome, warnings, decision }) => outcome === "retry" || (warnings?.length ?? 0) > 0 || decision,
    )
    .slice(0, MAX_OBJECT_LINES)
    .map(({ name, uid, outcome, because, afterSeconds, warnings, decision }) => ({
      level: outcome === "retry" ? "warn" : "info",
      event: "Object",
      cluster,
      id,
      name,
      uid,
      outcome,
      because,
      afterSeconds,
      warnings,
      decision,
    }));
}

function countsOf(report: Report): Record<"changed" | "unchanged" | "skipped" | "retry", number> {
  const counts = { changed: 0, unchanged: 0, skipped: 0, retry: 0 };
  for (const { outcome } of report.objects) counts[outcome] += 1;
  return counts;
}

function codeAndMessage({ code, message }: { readonly code: string; readonly message: string }): {
  readonly code: string;
  readonly message: string;
} {
  return { code, message };
}
