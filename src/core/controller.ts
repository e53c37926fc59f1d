import type { ActionAnswer } from "#core/capability.ts";
import type { ConfigError } from "#core/config-errors.ts";
import type { CloudAction, Decision, Plan, Write } from "#core/decision.ts";
import type { ControllerName, EventReason, ObjectHint } from "#core/event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import type { FleetBrakeState } from "#core/node-lifecycle/fleet-record.ts";
import type { Reason } from "#core/reason.ts";
import type { ObjectReport } from "#core/report.ts";
import type { ObjectName, Resource } from "#core/resources/resource.ts";
import type { ReservationRequest, Reservations } from "#core/service/load-balancer-quota.ts";
import type { Settings } from "#core/settings.ts";
import type { Stop } from "#core/stop.ts";

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
 * The watch half of a controller, for the relay and the sweep: which objects it works on, and which of them
 * need work. All of it is pure, and it decides nothing. `T` is the parsed object.
 */
export interface Watch<T extends ApiObject = ApiObject> {
  /**
   * The name in `--controllers`, in events and in metrics: the stock cloud-controller-manager's name, if it
   * has this controller.
   */
  readonly name: ControllerName;
  /** Other names that `--controllers` accepts. */
  readonly aliases: readonly string[];
  /** Whether `*` includes this controller. */
  readonly onByDefault: boolean;
  /** The file in `functions/`, which is also the last part of the deployed function's name. */
  readonly functionName: string;
  readonly resource: Resource;
  /**
   * The one object of the resource to watch; by default all. A controller for the cluster as a whole has the
   * namespace `kube-system` here, whose uid is the cluster's. Its other inputs are related objects.
   */
  readonly only?: ObjectName;
  /**
   * `object`: each object is decided separately, one invocation at a time for each uid. `batch`: objects are decided together under shared
   * state, one invocation at a time for each cluster.
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
  /**
   * Returns a text for what the owner of an object requests; when it changes, a pending retry becomes due. By
   * default only the fingerprint of `resyncPolicy` ends such a wait.
   */
  demand?(object: T, context: WatchContext): string;
  /** Objects of other resources that decisions read. */
  readonly related: readonly Related<T>[];
  /** When objects that need no work are checked; by default never. */
  readonly resyncPolicy?: ResyncPolicy<T>;
  /** Marks a controller that monitors lasting states, instead of doing work that others wait for. */
  readonly monitorPolicy?: MonitorPolicy<T>;
  /**
   * Returns the field manager, other than ours, that last wrote what our work had changed. The object is
   * unparsed, with its `managedFields`, and needs work again soon after our change. By default conflicts name
   * no manager.
   */
  findConflictingManager?(object: unknown): string | undefined;
  /** Histograms of delays that our changes end; by default none. */
  readonly delays?: readonly DelayHistogram<T>[];
  /** A gauge of waiting objects, by reason and age; by default none. */
  readonly waiting?: WaitingGauge<T>;
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
  /** Returns whether a change from one projection to another makes them due; by default every change does. */
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

/**
 * A controller: the watch half, and what a function needs to decide. It is pure. `T` is the object, `A` the
 * cloud's answer about it.
 */
export interface Controller<T extends ApiObject = ApiObject, A = unknown> extends Watch<T> {
  /** The `source.component` of its Events. */
  readonly eventSource: string;
  /**
   * The cloud's answer is also a listing by which quota reservations are counted (`listReservationRequests`).
   */
  readonly countsReservations?: true;
  /**
   * Loads the part of the controller that depends on the cloud. It resolves before the first question or
   * decision for a cluster. Absent if the controller is equal on all clouds.
   */
  load?(provider: string): Promise<void>;
  /**
   * Returns the question to the cloud about an object; undefined if the decision does not depend on the
   * cloud.
   */
  buildQuestion(object: T, context: AskContext): Question | undefined;
  /**
   * Returns the cluster state under which a batch is decided, in addition to its objects. It is read in each
   * round of shared writes, before deciding.
   */
  getStateReference?(batch: readonly Subject<T, A>[], context: AskContext): StateReference | undefined;
  /**
   * Returns the objects for which something limited by a quota will be created in the cloud; absent without
   * such a quota.
   */
  listReservationRequests?(
    batch: readonly Subject<T, A>[],
    context: AskContext,
  ): readonly ReservationRequest[];
  /**
   * Returns a text that changes when something changes on which an object's cloud actions were decided. An
   * action whose precondition contains it runs only on an object with that text.
   */
  contentHash?(object: T): string;
  /** Returns the unused cloud resources found for an object; undefined if they are unknown. */
  listOrphans?(subject: Subject<T, A>, context: AskContext): ObjectReport["orphans"];
  /**
   * Returns the resources that are deleted if a later check finds them unused again; undefined if the cloud
   * was not observed.
   */
  listCandidates?(subject: Subject<T, A>, context: AskContext): ObjectReport["candidates"];
  /**
   * Returns a plan for the batch: one decision for each subject, in order. Equal arguments give an equal
   * plan.
   */
  decide(batch: readonly Subject<T, A>[], context: DecisionContext): Plan;
  /**
   * Returns subject and answer after our write. A controller with this function decides again after each
   * change, until nothing is left; without it, a controller is done after one change.
   */
  applyResult?(subject: Subject<T, A>, done: DoneWrite): Subject<T, A>;
  /**
   * Applies a write to another subject of the batch than the one it was for, where the cloud's answers share
   * the changed state. Absent if objects share nothing.
   */
  applySharedResult?(subject: Subject<T, A>, done: DoneWrite, context: AskContext): Subject<T, A>;
  /**
   * Returns the decision for an action that the cloud rejected, if a person must fix something first.
   * Undefined if the failure is temporary: then the object is observed again or becomes due again. By default
   * every failure is temporary.
   */
  decideRejected?(subject: Subject<T, A>, refusal: RejectedAction, context: AskContext): Decision | undefined;
}

/** An action that was sent, and the cloud's answer to it. */
export interface RejectedAction {
  readonly action: CloudAction;
  readonly answer: Exclude<ActionAnswer, { readonly kind: "done" }>;
}

/** The facts on which a question depends, in addition to the object. */
export interface AskContext {
  readonly reason: EventReason;
  readonly now: Date;
  readonly related: RelatedObjects;
  readonly settings: Settings;
  /** The stop switch; undefined if nothing is stopped. */
  readonly stop?: Stop | undefined;
  /** Nine digits that identify this invocation among others on the same objects. */
  readonly actor?: string | undefined;
  /** Set if another actor changed the object during this invocation. */
  readonly conflict?: Conflict | undefined;
}

/** What this invocation had done before it found the object changed. */
export interface Conflict {
  /**
   * It had sent changes to the cloud: another actor's record of the applied state may be older than these.
   */
  readonly hasWritten: boolean;
}

/** A question to a cloud capability. All questions of a batch to one capability are one call. */
export type Question =
  /**
   * Answered with an `InstanceAnswer`; "not-found" contains a visibility probe if requested. The question
   * reads what identifies the node's instance.
   */
  | {
      readonly capability: "instances";
      readonly node: Node;
      readonly control?: boolean;
      /**
       * For an initialized node, the labels to look up if they need extra requests: the missing ones, or all.
       */
      readonly labels?: "missing" | "all" | undefined;
    }
  /** Answered with the capability's answer, as JSON. */
  | { readonly capability: string & {}; readonly ask: unknown };

/** An object of a batch, with the facts about it. */
export interface Subject<T extends ApiObject = ApiObject, A = unknown> {
  readonly object: T;
  /** The cloud's answer; undefined if it was not asked. */
  readonly answer: A | undefined;
  readonly hint: ObjectHint | undefined;
}

/** The facts on which a decision depends, in addition to its subjects. */
export interface DecisionContext extends AskContext {
  /** The object that `getStateReference` named, as JSON, or why it could not be read. */
  readonly state?: ReadState | undefined;
  /** The number of objects that `getStateReference` requested, counted right after reading the state. */
  readonly count?: ObjectCount | undefined;
  /**
   * Identifies the process whose clock `now` is: times of different processes are not compared to the second.
   */
  readonly clock?: string | undefined;
  /** The objects that `getStateReference` requested, projected, listed right after reading the state. */
  readonly listed?: ListedObjects | undefined;
  /** The state of the fleet brake; undefined without one. */
  readonly fleet?: FleetBrakeState | undefined;
  /**
   * The result of `listReservationRequests`; undefined if nothing is carried out, so nothing was reserved.
   */
  readonly reservations?: Reservations | undefined;
}

/** The related objects of an event, by the plural name of their resource. */
export type RelatedObjects = Readonly<
  Record<string, { readonly resourceVersion: string; readonly items: readonly unknown[] } | undefined>
>;

/** A cluster object under whose state a batch is decided. */
export type StateReference = Pick<Resource, "apiVersion" | "name"> & {
  readonly at: ObjectName;
  /** A resource whose objects are also counted. */
  readonly counted?: Pick<Resource, "apiVersion" | "name"> | undefined;
  /**
   * Objects of another resource that are also listed, for decisions that must not rely on the event's list.
   */
  readonly listed?: Pick<Related, "resource" | "project"> | undefined;
};

/** All objects of a resource in a current list of the API server, projected; or why the list failed. */
export type ListedObjects =
  | { readonly kind: "list"; readonly items: readonly unknown[] }
  | { readonly kind: "unknown"; readonly message: string };

/** The number of objects of a resource on the API server, or why it is unknown. */
export type ObjectCount =
  | { readonly kind: "count"; readonly count: number }
  | { readonly kind: "unknown"; readonly message: string };

/** The state of a batch, read right before deciding. */
export type ReadState =
  | { readonly kind: "object"; readonly object: unknown }
  | { readonly kind: "absent" }
  | { readonly kind: "unreadable"; readonly message: string };

/**
 * A write that was sent, with its result: the object's metadata from the cluster, or the action's result from
 * the cloud. For an independent change also the failed writes, with their reasons.
 */
export interface DoneWrite {
  readonly write: Write;
  readonly result: unknown;
  readonly failed?: Reason;
}

/** A controller whose answer comes from the capability `instances`. */
export type InstanceController<T extends ApiObject> = Controller<T, InstanceAnswer>;
