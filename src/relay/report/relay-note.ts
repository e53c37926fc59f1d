import type { ConfigError } from "#core/config-errors.ts";
import type { ControllerName } from "#core/event.ts";
import type { LimitInForce, LimitName } from "#kube/client/errors.ts";
import type { Delivery } from "#relay/delivery/deliver.ts";
import type { InformerNote } from "#relay/informer/informer.ts";
import type { LeaseNote } from "#relay/lease/heartbeat.ts";

import type { MeasuredDelay } from "#relay/report/delays.ts";

import type { Conflict, ObjectIdentity } from "#relay/work/types.ts";

/** Everything that the relay reports. Log lines and metrics are both made from it. */
export type RelayNote = { readonly cluster: string } & ClusterNote;

/** Everything that the relay reports about a cluster. */
export type ClusterNote =
  | ({ readonly resource: string } & InformerNote)
  | ({ readonly controller: ControllerName } & ControllerNote)
  | Recovery
  | AnswerLimitNote
  | LeaseNote
  | LogLimitNote
  /** The cluster's entry names a controller that this version does not have; the others run. */
  | { readonly kind: "unknown-controller"; readonly controller: string };

/** Everything that the relay reports about a controller in a cluster. */
export type ControllerNote =
  | {
      readonly kind: "delivered";
      readonly delivery: Delivery;
      readonly startedMs: number;
      readonly endedMs: number;
    }
  /** An object that violates the API server's schema; it is skipped until it changes. */
  | ({ readonly kind: "malformed"; readonly faults: readonly ConfigError[] } & ObjectIdentity)
  | MeasuredDelay
  /** Another writer undoes our work on an object repeatedly. */
  | ({ readonly kind: "undone" } & Conflict)
  /** Objects that no event can carry, because they are too large alone or with their related objects. */
  | {
      readonly kind: "too-large";
      readonly what: "object" | "related";
      readonly objects: readonly ObjectIdentity[];
    };

/** A failure or a limit of a cluster that has ended. */
export interface Recovery {
  readonly kind: "recovered";
  readonly resource: string;
  /** The code of the last failure; undefined after a limit. */
  readonly code?: string | undefined;
  /** The limit that was in force; undefined after a failure. */
  readonly limit?: LimitName | undefined;
  /** The time since it first failed, or since the limit applied. */
  readonly durationMs: number;
}

/** The notes of a log limit. */
export type LogLimitNote =
  /** The limit is in force from now on: lines are dropped. */
  | ({ readonly kind: "log-limited" } & LimitInForce)
  /**
   * The number of lines dropped since the limit applied or since the last such note; `flows` means that the
   * limit has ended.
   */
  | {
      readonly kind: "log-left-out";
      readonly lines: number;
      readonly durationMs: number;
      readonly flows: boolean;
    };

/** The note that a cluster's API server sends functions more than they read. */
export type AnswerLimitNote = { readonly kind: "answer-limited" } & LimitInForce;
