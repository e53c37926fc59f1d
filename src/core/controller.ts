import type { ActionAnswer } from "#core/capability.ts";
import type { CloudAction, Decision, Plan, Write } from "#core/decision.ts";
import type { EventReason, ObjectHint } from "#core/event.ts";
import type { AheadMode, InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import type { FleetBrakeState } from "#core/node-lifecycle/fleet-record.ts";
import type { Reason } from "#core/reason.ts";
import type { ObjectReport } from "#core/report.ts";
import type { ObjectName, Resource } from "#core/resources/resource.ts";
import type { ReservationRequest, Reservations } from "#core/service/load-balancer-quota.ts";
import type { Settings } from "#core/settings.ts";
import type { Stop } from "#core/stop.ts";
import type { ApiObject, Related, Watch } from "#core/watch.ts";

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
  decideRejected?(
    subject: Subject<T, A>,
    refusal: RejectedAction,
    context: DecisionContext,
  ): Decision | undefined;
  /**
   * Returns the subject with the rejection, for the decisions that follow `decideRejected`. Absent if they do
   * not depend on it.
   */
  applyRejection?(subject: Subject<T, A>, refusal: RejectedAction): Subject<T, A>;
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
      /** Whether the node joins; by default the cloud is asked. */
      readonly ahead?: AheadMode | undefined;
      /** Whether the cloud may look up what was launched lately, too. */
      readonly launches?: boolean | undefined;
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
  readonly state?: StateResult | undefined;
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
export type StateResult =
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
