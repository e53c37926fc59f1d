import type { ActionAnswer } from "#core/capability.ts";
import type { Controller, DoneWrite, RejectedAction } from "#core/controller.ts";
import type { Change, CloudAction, Decision, Write } from "#core/decision.ts";
import type { Reason } from "#core/reason.ts";
import type { ClusterUsage } from "#core/report.ts";
import type { ApiObject } from "#core/watch.ts";
import type { AdaptiveConcurrency } from "#kube/apply/adaptive-concurrency.ts";
import type { ChangePermit, Stop } from "#kube/apply/stop.ts";
import type { Transport } from "#kube/client/transport.ts";

/** An object of a batch, what was read of it, and its decision. */
export interface ApplyItem {
  /** The object's position in the event. */
  readonly index: number;
  readonly object: ApiObject;
  readonly decision: Decision;
  /** The sender's memory of Events recorded for it. */
  readonly said?: readonly string[] | undefined;
}

/** Decides again, policies included. */
export interface Decider {
  /** Decides on a reread object. */
  decideAgain(object: ApiObject, index: number): Decision | Promise<Decision>;
  /** Decides on the state after the last change; undefined if one change is the whole work. */
  decideNext(index: number, done: readonly DoneWrite[]): Decision | undefined;
  /**
   * Applies the result without deciding yet: what was done for this object may also concern others of its
   * batch.
   */
  applySharedResult?(index: number, done: readonly DoneWrite[]): void;
  /**
   * Decides after the cloud rejected an action, given the completed writes before it. Undefined if the object
   * is reread and decided again, or retried.
   */
  decideRejected?(index: number, refusal: RejectedAction, done: readonly DoneWrite[]): Decision | undefined;
}

/** The parts of a controller that the writer needs. */
export type AppliedController = Pick<
  Controller,
  "resource" | "parse" | "rechecks" | "eventSource" | "contentHash"
>;

/** The state that all objects of a batch share. */
export interface ApplyContext {
  readonly transport: Transport;
  readonly controller: AppliedController;
  readonly decide: Decider;
  /** Carries out one cloud action; never rejects. Without it, there are no actions. */
  readonly act?: ((action: CloudAction, signal: AbortSignal) => Promise<ActionAnswer>) | undefined;
  /** Returns why a write is held back now; undefined if it may be sent. Never rejects. */
  readonly held: (write: Write) => Promise<Reason | undefined>;
  readonly concurrency: AdaptiveConcurrency;
  /** Creates the change permit for which an object waits. */
  readonly newTurn: () => ChangePermit;
  /** When it is aborted, no request starts. */
  readonly deadline: AbortSignal;
  /** When it is aborted, the requests in flight are abandoned. */
  readonly giveUp: AbortSignal;
  readonly now: Date;
  /** Milliseconds of a clock that never steps. */
  readonly monotonicMs: () => number;
  /** Running totals. */
  readonly usage: { -readonly [Count in keyof ClusterUsage]: ClusterUsage[Count] };
  /** Set once no object of this batch can be written. */
  halted: Stop | undefined;
  /** Sets `halted` and abandons requests in flight. */
  readonly halt: (stop: Stop) => void;
  /** Requests without an answer, or with an unreadable one. */
  unanswered: number;
}

/** The progress of an object: its state after the writes so far. */
export interface Progress {
  object: ApiObject;
  /** The change that the last successful write belongs to. */
  change: Change | undefined;
  resourceVersion: string | undefined;
  /** The precondition that the object last met when it was read, and the monotonic time of that read. */
  guarded?: { readonly precondition: CloudAction["precondition"]; readonly atMs: number };
  /** Changes whose writes were all sent, earlier rounds included. */
  complete: readonly Change[];
}

/**
 * The completed part of a change; `stop` says why the rest was not sent, and `refusal` which action the cloud
 * refused.
 */
export interface CarryOutResult {
  readonly stop?: Stop;
  readonly refusal?: RejectedAction;
  readonly done: readonly DoneWrite[];
}
