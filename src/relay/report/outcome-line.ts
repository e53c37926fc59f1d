import { buildOrphanFacts, type Report } from "#core/report.ts";
import { ABANDONED } from "#platforms/invoker.ts";
import type { LeaseOutcome } from "#relay/lease/heartbeat.ts";
import type { RelayNote } from "#relay/report/relay-note.ts";

/** A log line without its time: a level, what happened, and the facts, without secrets. */
export interface OutcomeLine {
  readonly level: "info" | "warn" | "error";
  readonly event: string;
  readonly cluster: string;
  readonly [fact: string]: unknown;
}

/** The most object lines for one report; the counts show how many there were. */
const MAX_OBJECT_LINES = 20;

/** Returns the log lines for a note; resumed watches get none. */
export function formatOutcomeLines(note: RelayNote): readonly OutcomeLine[] {
  const { cluster } = note;
  switch (note.kind) {
    case "watch":
      return watchLines({ cluster, resource: note.resource }, note.note);
    case "delivered":
      return formatDeliveryLines(note);
    case "malformed": {
      const { controller, namespace, name, uid, faults } = note;
      const facts = { cluster, controller, namespace, name, uid, faults: faults.slice(0, 10) };
      return [{ level: "warn", event: "MalformedObject", ...facts }];
    }
    case "undone": {
      const { controller, namespace, name, uid, rounds, manager } = note;
      const message = `our work was undone ${rounds} times within a minute of its being done; see who does it`;
      const facts = { cluster, controller, namespace, name, uid, rounds, manager, message };
      return [{ level: "warn", event: "WorkUndone", ...facts }];
    }
    case "too-large":
      return formatTooLargeLines(note);
    case "unknown-controller": {
      const { controller } = note;
      const message = `this version has no controller "${controller}"; take it out of the cluster's controllers, or run a version that has it`;
      return [{ level: "error", event: "UnknownController", cluster, controller, message }];
    }
    case "recovered": {
      const { resource, code, limit, durationMs } = note;
      return [{ level: "info", event: "Recovered", cluster, resource, code, limit, durationMs }];
    }
    case "answer-limited":
    case "log-limited": {
      const { limit, message } = note;
      return [{ level: "warn", event: "ClusterLimited", cluster, limit, message }];
    }
    case "delay":
      return [];
    case "lease":
      return note.isNews ? [formatLeaseLine(note)] : [];
    case "log-left-out":
      return [logLimitedLine(note)];
    case "read": {
      const { resource, namespace, name, failure } = note;
      if (failure === undefined) return [];
      const facts = { cluster, resource, namespace, name };
      return [{ level: "warn", event: "ReadFailed", ...facts, ...pickCodeAndMessage(failure) }];
    }
    case "refreshed": {
      const { resource, objects, durationMs } = note;
      return [{ level: "info", event: "Refreshed", cluster, resource, objects, durationMs }];
    }
  }
}

function formatLeaseLine({ cluster, outcome, because }: Extract<RelayNote, { kind: "lease" }>): OutcomeLine {
  if (outcome === "renewed") return { level: "info", event: "LeaseRenewed", cluster };
  const message =
    because?.code === "Stopped"
      ? `${because.message}: ${NO_WRITER}`
      : `${LEASE_WORDS[outcome]}: ${because?.message}`;
  return { level: "warn", event: "LeaseNotRenewed", cluster, outcome, code: because?.code, message };
}

/** What each outcome means, and what to do. */
const LEASE_WORDS = {
  withheld: "the sweep will do the work of this relay",
  missing: "apply infra/state, or the sweep lists the cluster every minute",
  forbidden: "give the relay the rights of infra/rbac, or the sweep lists the cluster every minute",
  failed: "the relay retries",
} as const satisfies Record<Exclude<LeaseOutcome, "renewed">, string>;

/** The sweep reads the same stop switch. */
const NO_WRITER =
  "neither this relay nor the sweep writes for the cluster; serverless-ccm stop shows who stopped it, and how to resume";

function logLimitedLine(note: Extract<RelayNote, { kind: "log-left-out" }>): OutcomeLine {
  const { cluster, lines, durationMs, flows } = note;
  const message = `${lines} lines were left out${flows ? "" : ", and lines still are"}`;
  const facts = { cluster, limit: "logLines", leftOut: lines, durationMs, message };
  return { level: "warn", event: "LogLimited", ...facts };
}

/** Returns one line for each object up to a limit; the first states how many there were. */
function formatTooLargeLines(note: Extract<RelayNote, { kind: "too-large" }>): readonly OutcomeLine[] {
  const { cluster, controller, what, objects } = note;
  const message =
    what === "object"
      ? "no event can carry it"
      : "no event can carry it together with what decisions on it read of other objects";
  return objects.slice(0, MAX_OBJECT_LINES).map(({ namespace, name, uid }, index) => ({
    level: "warn",
    event: "ObjectTooLarge",
    cluster,
    controller,
    namespace,
    name,
    uid,
    message,
    ...(index === 0 && objects.length > 1 ? { objects: objects.length } : {}),
  }));
}

function watchLines(
  followed: { readonly cluster: string; readonly resource: string },
  note: Extract<RelayNote, { kind: "watch" }>["note"],
): readonly OutcomeLine[] {
  switch (note.kind) {
    case "listed": {
      const { cause, objects, durationMs, restarted } = note;
      const facts = { ...followed, cause, objects, durationMs, restarted };
      return [{ level: restarted ? "warn" : "info", event: "Listed", ...facts }];
    }
    case "failed": {
      const facts = { ...followed, ...pickCodeAndMessage(note), retryInMs: note.delayMs };
      return [{ level: "warn", event: "WatchFailed", ...facts }];
    }
    case "malformed": {
      const { objects, message } = note;
      return [{ level: "warn", event: "MalformedObject", ...followed, objects, message }];
    }
    case "limited": {
      const { limit, message } = note;
      return [{ level: "warn", event: "ClusterLimited", ...followed, limit, message }];
    }
    case "within-limits":
    case "opened":
    case "ended":
      return [];
  }
}

function formatDeliveryLines(note: Extract<RelayNote, { kind: "delivered" }>): readonly OutcomeLine[] {
  const { cluster, delivery, startedMs, endedMs } = note;
  const { event, invocation, unnamed } = delivery;
  const facts = {
    cluster,
    controller: event.controller,
    eventId: event.id,
    reason: event.reason,
    objects: event.objects.length,
    invokedMs: endedMs - startedMs,
  };
  if (invocation.kind === "failed") {
    // An invocation that the relay abandoned itself is no failure.
    const level = invocation.code === ABANDONED ? "info" : "warn";
    return [{ level, event: "InvocationFailed", ...facts, ...pickCodeAndMessage(invocation) }];
  }
  const { report } = invocation;
  const outcomes = countOutcomes(report);
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
  const common = { cluster, controller: event.controller, eventId: event.id };
  const orphans = buildOrphanFacts(report.objects).map((orphan): OutcomeLine => {
    return { level: "warn", event: "OrphanedLoadBalancer", ...common, ...orphan };
  });
  return [head, ...formatObjectLines(common, report), ...orphans];
}

function formatObjectLines(
  common: Pick<OutcomeLine, "cluster"> & { readonly controller: string; readonly eventId: string },
  report: Report,
): readonly OutcomeLine[] {
  return report.objects
    .filter(
      ({ outcome, because, warnings, decision }) =>
        outcome === "retry" || (warnings?.length ?? 0) > 0 || decision || because.code === "Stopped",
    )
    .slice(0, MAX_OBJECT_LINES)
    .map(({ namespace, name, uid, outcome, because, afterSeconds, warnings, decision }) => ({
      level: outcome === "retry" ? "warn" : "info",
      event: "Object",
      ...common,
      namespace,
      name,
      uid,
      outcome,
      because,
      afterSeconds,
      warnings,
      decision,
    }));
}

function countOutcomes(report: Report): Record<"changed" | "unchanged" | "skipped" | "retry", number> {
  const counts = { changed: 0, unchanged: 0, skipped: 0, retry: 0 };
  for (const { outcome } of report.objects) counts[outcome] += 1;
  return counts;
}

function pickCodeAndMessage({ code, message }: { readonly code: string; readonly message: string }): {
  readonly code: string;
  readonly message: string;
} {
  return { code, message };
}
