import type { Change, ClusterEvent, Decision } from "#core/decision.ts";
import { referenceTo } from "#core/decisions.ts";
import type { ObjectReport } from "#core/report.ts";
import type { ApplyContext, ApplyItem, Progress } from "#kube/apply/context.ts";
import type { ObjectEvent } from "#kube/apply/record-events.ts";
import type { Stop } from "#kube/apply/stop.ts";

/** What became of an object, and the Events that are to be recorded for it. */
export interface AppliedObject {
  readonly report: ObjectReport;
  readonly events: readonly ObjectEvent[];
}

/** All that was decided is written. */
export function changed(
  item: ApplyItem,
  change: Change,
  progress: Progress,
  context: ApplyContext,
): AppliedObject {
  const seen = context.controller.looks?.fingerprint(progress.object);
  return {
    report: {
      ...about(item, progress),
      outcome: "changed",
      because: change.because,
      ...(seen === undefined ? {} : { seen }),
      ...(change.warnings.length === 0 ? {} : { warnings: change.warnings }),
    },
    // Where somebody else has made its later writes needless, it is complete without them.
    events: eventsOf(item, { complete: [...new Set([...progress.complete, change])] }, context),
  };
}

/** A decision that writes nothing; after a write of ours in an earlier round, the change is complete all the same. */
export function settled(
  item: ApplyItem,
  decision: Exclude<Decision, Change>,
  progress: Progress,
  context: ApplyContext,
): AppliedObject {
  const { because } = decision;
  switch (decision.kind) {
    case "retry":
      return {
        report: { ...about(item, progress), outcome: "retry", because, afterSeconds: decision.afterSeconds },
        events: eventsOf(item, progress, context, decision.events),
      };
    case "skip":
      return {
        report: { ...about(item, progress), outcome: "skipped", because },
        events: eventsOf(item, progress, context),
      };
    case "unchanged":
      if (progress.change !== undefined) return changed(item, progress.change, progress, context);
      return { report: { ...about(item, progress), outcome: "unchanged", because }, events: [] };
  }
}

/** Not all that was decided is written, and why. */
export function stopped(
  item: ApplyItem,
  stop: Stop,
  progress: Progress,
  context: ApplyContext,
): AppliedObject {
  const { because } = stop;
  if (stop.kind === "skip") {
    const events = eventsOf(item, progress, context);
    return { report: { ...about(item, progress), outcome: "skipped", because }, events };
  }
  const event = stop.kind === "retry" ? stop.event : undefined;
  return {
    report: { ...about(item, progress), outcome: "retry", because, afterSeconds: stop.afterSeconds },
    events: eventsOf(item, progress, context, event === undefined ? [] : [event]),
  };
}

/** Of all changes that were made, however it went on. */
function eventsOf(
  { object, said }: ApplyItem,
  { complete }: Pick<Progress, "complete">,
  { controller: { resource } }: ApplyContext,
  more: readonly ClusterEvent[] = [],
): readonly ObjectEvent[] {
  const reference = referenceTo(resource, object);
  const events = complete.flatMap((change) => change.events);
  return [...events, ...more].map((event) => ({ object: reference, event, said }));
}

function about(
  { index, object: { metadata } }: ApplyItem,
  { resourceVersion }: Progress,
): Pick<ObjectReport, "index" | "namespace" | "name" | "uid" | "resourceVersion"> {
  const { namespace, name, uid } = metadata;
  return {
    index,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    uid,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}
