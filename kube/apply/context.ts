import type { ActionAnswer } from "#core/capability.ts";
import type { ApiObject, Controller, DoneWrite, RefusedAction } from "#core/controller.ts";
import type { Because, Change, CloudAction, Decision, Write } from "#core/decision.ts";
import type { ClusterUsage } from "#core/report.ts";
import type { Gate } from "#kube/apply/concurrency.ts";
import type { Stop } from "#kube/apply/stop.ts";
import type { Turn } from "#kube/apply/turns.ts";
import type { Transport } from "#kube/client/transport.ts";

/** One object of a batch, what was read of it and what was decided. */
export interface ApplyItem {
  /** The object's place in the event. */
  readonly index: number;
  readonly object: ApiObject;
  readonly decision: Decision;
  /** What the sender remembers of the Events recorded on it. */
  readonly said?: readonly string[] | undefined;
}

/** Decides anew, policies included. */
export interface Decider {
  /** On an object that was read again. */
  again(object: ApiObject, index: number): Decision | Promise<Decision>;
  /** On what the last change has left; undefined where a change is all that there is to do. */
  next(index: number, done: readonly DoneWrite[]): Decision | undefined;
  /** Decides nothing yet: what of this object was done may be of others of its batch, too. */
  told?(index: number, done: readonly DoneWrite[]): void;
  /**
   * On an action that the cloud did not do, and the writes before it that were done; undefined where the object is read and decided
   * on anew, or due again.
   */
  refused?(index: number, refusal: RefusedAction, done: readonly DoneWrite[]): Decision | undefined;
}

/** Of a controller, what the writer needs. */
export type AppliedController = Pick<
  Controller,
  "resource" | "parse" | "looks" | "eventSource" | "contentHash"
>;

/** What all objects of a batch share. */
export interface ApplyContext {
  readonly transport: Transport;
  readonly controller: AppliedController;
  readonly decide: Decider;
  /** Carries out one action of the cloud; never rejects. Without it there are none to be carried out. */
  readonly act?: ((action: CloudAction, signal: AbortSignal) => Promise<ActionAnswer>) | undefined;
  /** Why a write is held back that was to be sent now; undefined where it is not. Never rejects. */
  readonly held: (write: Write) => Promise<Because | undefined>;
  readonly gate: Gate;
  /** Whoever has the cloud changed waits for its turn. */
  readonly newTurn: () => Turn;
  /** Once aborted no request starts. */
  readonly deadline: AbortSignal;
  /** Once aborted the requests in flight are given up. */
  readonly giveUp: AbortSignal;
  readonly now: Date;
  /** Milliseconds of a clock that never steps. */
  readonly monotonicMs: () => number;
  /** Counted up. */
  readonly usage: { -readonly [Count in keyof ClusterUsage]: ClusterUsage[Count] };
  /** Set once it is clear that no object of this batch can be written … */
  halted: Stop | undefined;
  /** … and what is in flight by then is given up. */
  readonly halt: (stop: Stop) => void;
  /** Requests that came to no answer, or to one that is not read. */
  unanswered: number;
}

/** How far an object has come: as it stands after the writes so far. */
export interface Progress {
  object: ApiObject;
  /** The change that the last successful write belongs to. */
  change: Change | undefined;
  resourceVersion: string | undefined;
  /** Which precondition the object last met when it was read, and when that was, by the clock that never steps. */
  guarded?: { readonly precondition: CloudAction["precondition"]; readonly atMs: number };
  /** Changes all of whose writes were sent, of earlier rounds too. */
  complete: readonly Change[];
}

/** What of a change was done; `stop` says why not all, and `refusal` which action it was, where that was the cloud's doing. */
export interface CarriedOut {
  readonly stop?: Stop;
  readonly refusal?: RefusedAction;
  readonly done: readonly DoneWrite[];
}
