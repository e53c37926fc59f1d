import type { Change, ClusterEvent, Decision } from "#core/decision.ts";
import { toReference } from "#core/decisions.ts";
import type { ObjectReport } from "#core/report.ts";
import type { ApplyContext, ApplyItem, Progress } from "#kube/apply/context.ts";
import type { ObjectEvent } from "#kube/apply/record-events.ts";
import type { Stop } from "#kube/apply/stop.ts";

/** An object's outcome and its Events. */
export interface AppliedObject {
  readonly report: ObjectReport;
  readonly events: readonly ObjectEvent[];
}

/** Reports a completely written decision. */
export function reportChanged(
  item: ApplyItem,
  change: Change,
  progress: Progress,
  context: ApplyContext,
): AppliedObject {
  const seen = context.controller.rechecks?.resync?.fingerprint(progress.object);
  return {
    report: {
      ...identifyObject(item, progress),
      outcome: "changed",
      because: change.because,
      ...(seen === undefined ? {} : { seen }),
      ...(change.warnings.length === 0 ? {} : { warnings: change.warnings }),
    },
    // If another writer has made the later writes unnecessary, the change is complete without them.
    events: collectEvents(item, { complete: [...new Set([...progress.complete, change])] }, context),
  };
}

/** Reports a decision without writes. After a write of ours in an earlier round, the change is complete. */
export function reportSettled(
  item: ApplyItem,
  decision: Exclude<Decision, Change>,
  progress: Progress,
  context: ApplyContext,
): AppliedObject {
  const { because } = decision;
  switch (decision.kind) {
    case "retry":
      return {
        report: {
          ...identifyObject(item, progress),
          outcome: "retry",
          because,
          afterSeconds: decision.afterSeconds,
        },
        events: collectEvents(item, progress, context, decision.events),
      };
    case "skip":
      return {
        report: { ...identifyObject(item, progress), outcome: "skipped", because },
        events: collectEvents(item, progress, context),
      };
    case "unchanged":
      if (progress.change !== undefined) return reportChanged(item, progress.change, progress, context);
      return { report: { ...identifyObject(item, progress), outcome: "unchanged", because }, events: [] };
  }
}

/** Reports a partly written decision and its reason. */
export function reportStopped(
  item: ApplyItem,
  stop: Stop,
  progress: Progress,
  context: ApplyContext,
): AppliedObject {
  const { because } = stop;
  if (stop.kind === "skip") {
    const events = collectEvents(item, progress, context);
    return { report: { ...identifyObject(item, progress), outcome: "skipped", because }, events };
  }
  const event = stop.kind === "retry" ? stop.event : undefined;
  return {
    report: { ...identifyObject(item, progress), outcome: "retry", because, afterSeconds: stop.afterSeconds },
    events: collectEvents(item, progress, context, event === undefined ? [] : [event]),
  };
}

/** Collects the Events of all completed changes, whatever followed. */
function collectEvents(
  { object, said }: ApplyItem,
  { complete }: Pick<Progress, "complete">,
  { controller: { resource } }: ApplyContext,
  more: readonly ClusterEvent[] = [],
): readonly ObjectEvent[] {
  const reference = toReference(resource, object);
  const events = complete.flatMap((change) => change.events);
  return [...events, ...more].map((event) => ({ object: reference, event, said }));
}

function identifyObject(
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
