import * as z from "zod";
import { type ConfigError, listFaults } from "#core/config-errors.ts";
import type { NamedEnablement } from "#core/descriptor.ts";
import type { ControllerName } from "#core/event.ts";
import type { ObjectName, Resource } from "#core/resources/resource.ts";
import type { Settings } from "#core/settings.ts";

/** The fields of every Kubernetes object that the core reads. */
export interface ApiObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string | undefined;
  };
}

/** A parsed object from outside; or its errors, with the parts of its identity that are valid. */
export type ParsedObject<T> =
  | { readonly kind: "object"; readonly object: T }
  | {
      readonly kind: "malformed";
      readonly name?: string;
      readonly uid?: string;
      readonly faults: readonly ConfigError[];
    };

/** The facts about a cluster on which a watch half depends, in addition to the object. */
export interface WatchContext {
  /** Prefixes of the labels that the cluster's cloud writes. */
  readonly labelPrefixes: readonly string[];
  /** Keys of labels and annotations by which that cloud identifies a node; empty by default. */
  readonly nodeKeys?: readonly string[];
  readonly settings: Settings;
}

/**
 * The watch half of a controller, for the relay and the sweep: which objects the controller works on, and which of
 * them need work. All functions are pure, and none decides what to write. `T` is the parsed object.
 */
export interface Watch<T extends ApiObject = ApiObject> {
  /**
   * The name in `--controllers`, in events and in metrics: the stock cloud-controller-manager's name, if it
   * has this controller.
   */
  readonly name: ControllerName;
  /** The file in `functions/`, which is also the last part of the deployed function's name. */
  readonly functionName: string;
  readonly resource: Resource;
  /**
   * The one object of the resource to watch; by default all. A controller for the cluster as a whole has the
   * namespace `kube-system` here, whose uid is the cluster's. Its other inputs are related objects.
   */
  readonly only?: ObjectName;
  /**
   * The cluster may lack the resource, or the right to list it. Then the controller does nothing, and the
   * cluster is ready without it.
   */
  readonly isOptional?: true;
  /**
   * `object`: each object is decided separately, with one invocation at a time for each uid. `batch`: objects are
   * decided together under shared state, with one invocation at a time for each cluster.
   */
  readonly scope: "object" | "batch";
  /**
   * The maximum number of concurrent invocations for a cluster, if one may take long. Objects that arrive
   * meanwhile form one batch, and the cluster's other permits stay free. By default only the cluster's own
   * limit applies.
   */
  readonly invocations?: number;
  /**
   * The controller may delete something that cannot be restored: a function reads the stop switch before it
   * begins.
   */
  readonly deletes?: true;
  /** Parses a whole object or its snapshot; never throws. */
  parse(value: unknown): ParsedObject<T>;
  /**
   * Returns the part of an object that decisions read. Decisions on the object and on its snapshot are equal;
   * a snapshot's snapshot is itself.
   */
  snapshot(object: T, context: WatchContext): T;
  /** Returns whether an object in its current state needs work; level-triggered. */
  needsWork(object: T, context: WatchContext): boolean;
  /** Objects of other resources that decisions read. */
  readonly related: readonly Related<T>[];
  /** Which clusters it runs for; by default those that name it. */
  readonly enablement?: Enablement;
  /** When an object that needs no work is checked, and what ends a retry early; by default never. */
  readonly rechecks?: Rechecks<T>;
  /** Metrics in addition to those of every controller. */
  readonly metrics?: ControllerMetrics<T>;
}

/** Which clusters a controller runs for. */
export interface Enablement extends NamedEnablement {
  /**
   * The controller with which this one is always enabled. It has no name of its own in `--controllers` or in
   * a cluster's entry, and uses the companion's function.
   */
  readonly companionOf?: ControllerName;
  /**
   * Returns whether a cluster with these settings needs the controller; by default every cluster does. Other
   * clusters are neither watched nor swept for it.
   */
  isFor?(settings: Settings): boolean;
}

/** When an object that needs no work is checked, and what ends a retry early. */
export interface Rechecks<T extends ApiObject = ApiObject> {
  /** When objects that need no work are checked; by default never. */
  readonly resync?: ResyncPolicy<T>;
  /** Marks a controller that monitors lasting states, instead of doing work that others wait for. */
  readonly monitor?: MonitorPolicy<T>;
  /**
   * Returns a text for what the owner of an object requests; when it changes, a pending retry becomes due. By
   * default only the fingerprint of `resync` ends such a wait.
   */
  demand?(object: T, context: WatchContext): string;
  /**
   * Returns a text for what the object announces; undefined for nothing. Each new text causes one resync with
   * the reason `watch`, tried a few times, while the object needs no work.
   */
  announcement?(object: T): string | undefined;
  /**
   * Returns the field manager, other than ours, that last wrote what our work had changed. The object is
   * unparsed, with its `managedFields`, and needs work again soon after our change. By default conflicts name
   * no manager.
   */
  findConflictingManager?(object: unknown): string | undefined;
}

/** The metrics that a controller adds to those of every controller. */
export interface ControllerMetrics<T extends ApiObject = ApiObject> {
  /** Histograms of delays that our changes end; by default none. */
  readonly delays?: readonly DelayHistogram<T>[];
  /** A gauge of waiting objects, by reason and age; by default none. */
  readonly waiting?: WaitingGauge<T>;
  /** A gauge of the unused cloud resources that it finds; by default none. */
  readonly orphans?: { readonly metric: string; readonly help: string };
}

/** A gauge of objects that wait for our change, by the code of their last report and by age. */
export interface WaitingGauge<T extends ApiObject = ApiObject> {
  /** The full name of the metric. */
  readonly metric: string;
  readonly help: string;
  /** `settings` are the cluster's; by default the default settings. */
  isWaiting(object: T, settings?: Settings): boolean;
  /**
   * Returns since when a waiting object waits, as reported by its API server; by default its creation time.
   */
  since?(object: T): string | undefined;
}

/**
 * A histogram of the time that objects wait for our change, since their creation or since they began to wait
 * again.
 */
export interface DelayHistogram<T extends ApiObject = ApiObject> {
  /** The full name of the metric, in seconds. */
  readonly metric: string;
  readonly help: string;
  /** Returns whether an object in its current state waits; `settings` as in `WaitingGauge`. */
  isWaiting(object: T, settings?: Settings): boolean;
  /** Whether an object counts once, if it waits from its creation, or each time it waits. */
  readonly counts: "first" | "each";
  /**
   * The end of the delay: the API server shows that the object no longer waits, or all its work is reported.
   */
  readonly until: "shown" | "reported";
}

/** Objects of another resource that decisions read. */
export interface Related<T extends ApiObject = ApiObject> {
  readonly resource: Resource;
  /** Returns the part of such an object that decisions read, as JSON; undefined if it is not needed. */
  project(object: unknown): unknown;
  /**
   * Returns the keys (`formatObjectKey`) of the related objects that a decision on `object` reads. When the
   * projection of one appears, disappears or changes, the objects that read it become due.
   */
  reads(object: T): "all" | readonly string[];
  /** Returns whether a change of a projection makes its readers due; by default every change does. */
  concerns?(before: unknown, after: unknown): boolean;
}

/** When objects that need no work are checked, in addition to every refresh. */
export interface ResyncPolicy<T extends ApiObject = ApiObject> {
  /** Returns a text that changes when the object needs a resync; it is only compared, never parsed. */
  fingerprint(object: T): string;
  /** One more check after our change, within this range of seconds; by default none. */
  readonly againSeconds?: readonly [from: number, to: number];
  /**
   * Seconds between two refreshes; a function reads them from the cluster's settings. The default is
   * `--node-status-update-frequency`.
   */
  readonly everySeconds?: number | ((settings: Settings) => number);
  /**
   * The maximum number of refreshes per second for all clusters of a cloud account together, in each thread
   * of a relay. A cluster without a refresh for ten minutes gets one in any case. By default there is no such
   * limit.
   */
  readonly refreshesPerSecond?: number;
  /** An object that needs no work is also checked when its related objects change. */
  readonly whenRelatedChange?: true;
}

/** How lasting states are checked: with the reason `monitor`, after the work of other controllers. */
export interface MonitorPolicy<T extends ApiObject = ApiObject> {
  /** Returns the seconds until the first check of an object that begins to need one. */
  afterSeconds(object: T, context: WatchContext): number;
  /**
   * Returns a text that changes when the wait for the next check should start again; it is only compared,
   * never parsed.
   */
  fingerprint(object: T): string;
}

/** Parses an object from outside. A malformed object keeps the valid parts of its identity. Never throws. */
export function parseObject<T extends ApiObject>(schema: z.ZodType<T>, value: unknown): ParsedObject<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { kind: "object", object: parsed.data };
  return { kind: "malformed", ...parseIdentity(value), faults: listFaults(parsed.error) };
}

/** The parts of an object's identity that fit into a report. */
const Identity = z.object({
  metadata: z.object({
    name: z.string().min(1).max(253).optional().catch(undefined),
    uid: z.string().min(1).max(128).optional().catch(undefined),
  }),
});

function parseIdentity(value: unknown): { name?: string; uid?: string } {
  const parsed = Identity.safeParse(value);
  if (!parsed.success) return {};
  const { name, uid } = parsed.data.metadata;
  return { ...(name === undefined ? {} : { name }), ...(uid === undefined ? {} : { uid }) };
}
