import type { Event } from "#core/event.ts";
import type { ObjectReport, Report } from "#core/report.ts";
import { NO_CLUSTER_USAGE } from "#core/usage.ts";
import { type Answers, NO_ANSWERS } from "#functions/parts/ask-cloud.ts";
import type { Refused } from "#functions/parts/find-cluster.ts";
import type { Decided } from "#functions/parts/hand-back.ts";
import type { Entry, MalformedEntry } from "#functions/parts/parse-objects.ts";

/** The report of a batch: an entry for each object of the event, in its order. `startedAt` is of `performance.now()`. */
export function reportOf(
  event: Event,
  entries: readonly Entry[],
  answers: Answers,
  outcomes: Decided,
  startedAt: number,
): Report {
  const malformed = entries.flatMap((entry) => (entry.kind === "malformed" ? [malformedReport(entry)] : []));
  const totalMs = performance.now() - startedAt;
  return {
    version: 1,
    id: event.id,
    cluster: event.cluster,
    controller: event.controller,
    objects: [...malformed, ...outcomes.objects].sort((a, b) => a.index - b.index),
    durations: { cloudMs: answers.durationMs, clusterMs: outcomes.durationMs, totalMs },
    usage: { cloud: answers.usage, cluster: outcomes.usage },
    ...(outcomes.handedBack === undefined ? {} : { handedBack: outcomes.handedBack }),
  };
}

/** The report of an event that was refused: nothing was asked or written, and all objects are due again. */
export function refusalOf(
  event: Event,
  entries: readonly Entry[],
  refused: Refused,
  startedAt: number,
): Report {
  const { because, afterSeconds } = refused;
  const objects = entries.map(
    (entry): ObjectReport => ({ ...identityOf(entry), outcome: "retry", because, afterSeconds }),
  );
  const outcomes = { objects, usage: NO_CLUSTER_USAGE, durationMs: 0 };
  return reportOf(event, [], NO_ANSWERS, outcomes, startedAt);
}

function malformedReport(entry: MalformedEntry): ObjectReport {
  return { ...identityOf(entry), outcome: "skipped", because: entry.because };
}

function identityOf(entry: Entry): Pick<ObjectReport, "index" | "namespace" | "name" | "uid"> {
  const namespace = entry.kind === "object" ? entry.object.metadata.namespace : undefined;
  const { name, uid } = entry.kind === "object" ? entry.object.metadata : entry;
  return {
    index: entry.index,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
  };
}
