import type { ApiObject, Watch, WatchContext } from "#core/controller.ts";
import type { Fault } from "#core/faults.ts";
import { followsRelated } from "#delivery/follows-related.ts";

/** An object as a controller's watch half sees it. */
export interface ObservedObject {
  readonly kind: "object";
  readonly needsWork: boolean;
  readonly snapshot: ApiObject;
  /** What is watched for drift, as one text; undefined where the controller looks at nothing that needs no work, and it is monitored by none. */
  readonly fingerprint: string | undefined;
  /** What it asks for, as one text; undefined where there is no work, or the controller does not tell. */
  readonly demand?: string | undefined;
  /** Whether a change of the related objects that it reads is a reason to look at it although it needs no work. */
  readonly followsRelated?: true;
  /** Milliseconds until the first try, where there is work. */
  readonly afterMs?: number | undefined;
  /** The field manager that last wrote what our work changes, and is not us; asked only where there is work. */
  readonly undoneBy: string | undefined;
}

/** What the relay makes of an object that it is shown. */
export type Observed = ObservedObject | { readonly kind: "malformed"; readonly faults: readonly Fault[] };

/** Reads an object, at the door, as a controller sees it. */
export function observe(watch: Watch, object: unknown, context: WatchContext): Observed {
  const parsed = watch.parse(object);
  if (parsed.kind === "malformed") return { kind: "malformed", faults: parsed.faults };
  const needsWork = watch.needsWork(parsed.object, context);
  const monitored = needsWork ? watch.monitors : undefined;
  return {
    kind: "object",
    needsWork,
    snapshot: watch.snapshot(parsed.object, context),
    fingerprint: watch.looks?.fingerprint(parsed.object) ?? monitored?.fingerprint(parsed.object),
    demand: needsWork ? watch.demand?.(parsed.object, context) : undefined,
    undoneBy: needsWork ? watch.undoneBy?.(object) : undefined,
    ...(followsRelated(watch, parsed.object) ? { followsRelated: true as const } : {}),
    ...(monitored === undefined ? {} : { afterMs: monitored.afterSeconds(parsed.object, context) * 1_000 }),
  };
}
