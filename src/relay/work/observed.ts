import type { ConfigError } from "#core/config-errors.ts";
import type { ApiObject, Watch, WatchContext } from "#core/controller.ts";
import { isRelatedFollower } from "#delivery/related-batch.ts";

/** An object as a controller's watch half sees it. */
export interface ObservedObject {
  readonly kind: "object";
  readonly needsWork: boolean;
  readonly snapshot: ApiObject;
  /**
   * The fields that are watched for drift, as one text; undefined if the controller neither resyncs nor
   * monitors.
   */
  readonly fingerprint: string | undefined;
  /**
   * What the object requests, as one text; undefined if it needs no work or the controller does not define
   * it.
   */
  readonly demand?: string | undefined;
  /** Whether a change of the related objects that it reads causes a resync although it needs no work. */
  readonly followsRelated?: true;
  /** Milliseconds until the first try, if the object needs work. */
  readonly afterMs?: number | undefined;
  /**
   * The field manager, other than ours, that last wrote the fields that our work changes. Read only if the
   * object needs work.
   */
  readonly undoneBy: string | undefined;
}

/** What the relay derives from an object that it is shown. */
export type Observed =
  | ObservedObject
  | { readonly kind: "malformed"; readonly faults: readonly ConfigError[] };

/** Parses an object and returns it as a controller sees it. */
export function observe(watch: Watch, object: unknown, context: WatchContext): Observed {
  const parsed = watch.parse(object);
  if (parsed.kind === "malformed") return { kind: "malformed", faults: parsed.faults };
  const needsWork = watch.needsWork(parsed.object, context);
  const monitored = needsWork ? watch.monitorPolicy : undefined;
  return {
    kind: "object",
    needsWork,
    snapshot: watch.snapshot(parsed.object, context),
    fingerprint: watch.resyncPolicy?.fingerprint(parsed.object) ?? monitored?.fingerprint(parsed.object),
    demand: needsWork ? watch.demand?.(parsed.object, context) : undefined,
    undoneBy: needsWork ? watch.findConflictingManager?.(object) : undefined,
    ...(isRelatedFollower(watch, parsed.object) ? { followsRelated: true as const } : {}),
    ...(monitored === undefined ? {} : { afterMs: monitored.afterSeconds(parsed.object, context) * 1_000 }),
  };
}
