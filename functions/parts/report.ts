import type { Event } from "#core/event.ts";
import type { ObjectReport, Report } from "#core/report.ts";
import { NO_CLUSTER_USAGE } from "#core/usage.ts";
import { type Answers, NO_ANSWERS } from "#functions/parts/ask-cloud.ts";
import type { DeferredBatch } from "#functions/parts/defer-writes.ts";
import type { Rejection } from "#functions/parts/find-cluster.ts";
import type { Entry, MalformedEntry } from "#functions/parts/parse-objects.ts";

/**
 * Builds the report of a batch: one entry for each object of the event, in order. `startedAt` is from
 * `performance.now()`.
 */
export function buildReport(
  event: Event,
  entries: readonly Entry[],
  answers: Answers,
  outcomes: DeferredBatch,
  startedAt: number,
): Report {
  const malformed = entries.flatMap((entry) =>
    entry.kind === "malformed" ? [buildMalformedReport(entry)] : [],
  );
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

/** Builds the report of a rejected event: nothing was requested or written, and all objects are retried. */
export function buildRejectionReport(
  event: Event,
  entries: readonly Entry[],
  refused: Rejection,
  startedAt: number,
): Report {
  const { because, afterSeconds } = refused;
  const objects = entries.map(
    (entry): ObjectReport => ({ ...selectIdentity(entry), outcome: "retry", because, afterSeconds }),
  );
  const outcomes = { objects, usage: NO_CLUSTER_USAGE, durationMs: 0 };
  return buildReport(event, [], NO_ANSWERS, outcomes, startedAt);
}

function buildMalformedReport(entry: MalformedEntry): ObjectReport {
  return { ...selectIdentity(entry), outcome: "skipped", because: entry.because };
}

function selectIdentity(entry: Entry): Pick<ObjectReport, "index" | "namespace" | "name" | "uid"> {
  const namespace = entry.kind === "object" ? entry.object.metadata.namespace : undefined;
  const { name, uid } = entry.kind === "object" ? entry.object.metadata : entry;
  return {
    index: entry.index,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
  };
}
