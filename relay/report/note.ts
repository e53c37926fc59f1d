import type { ControllerName } from "#core/event.ts";
import type { Fault } from "#core/faults.ts";
import type { Delivery } from "#relay/delivery/deliver.ts";
import type { FeedNote } from "#relay/feed/resource-feed.ts";
import type { LeaseNote } from "#relay/lease/renew-lease.ts";
import type { AnswerLimitNote } from "#relay/report/answer-limit.ts";
import type { MeasuredDelay } from "#relay/report/delays.ts";
import type { LogLimitNote } from "#relay/report/log-limit.ts";
import type { Recovered } from "#relay/report/troubles.ts";
import type { KnownObject, Undone } from "#relay/work/pending.ts";

/** Everything that the relay has to tell; log lines and metrics are both made of it. */
export type RelayNote = { readonly cluster: string } & ClusterNote;

/** What there is to tell of a cluster. */
export type ClusterNote =
  | ({ readonly resource: string } & FeedNote)
  | ({ readonly controller: ControllerName } & ControllerNote)
  | Recovered
  | AnswerLimitNote
  | LeaseNote
  | LogLimitNote
  /** The cluster's entry names a controller that this version does not have; the others go on. */
  | { readonly kind: "unknown-controller"; readonly controller: string };

/** What there is to tell of a controller's work in a cluster. */
export type ControllerNote =
  | {
      readonly kind: "delivered";
      readonly delivery: Delivery;
      readonly startedMs: number;
      readonly endedMs: number;
    }
  /** An object that is not what the API server's schema promises; left out until it changes. */
  | ({ readonly kind: "malformed"; readonly faults: readonly Fault[] } & KnownObject)
  | MeasuredDelay
  /** Somebody undoes our work on an object, again and again. */
  | ({ readonly kind: "undone" } & Undone)
  /** Objects that no event can carry: too large themselves, or with what decisions read of others. */
  | {
      readonly kind: "too-large";
      readonly what: "object" | "related";
      readonly objects: readonly KnownObject[];
    };
