import { buildClusterEvent } from "#core/cluster-events.ts";
import type { ClusterEvent, ClusterWrite } from "#core/decision.ts";
import { toReference } from "#core/decisions.ts";
import type { Reason } from "#core/reason.ts";
import { NODES, type Resource } from "#core/resources/resource.ts";
import { getKindFact, getNameFact, getServerMessageFact } from "#core/tenant-fact.ts";
import type { ApiObject } from "#core/watch.ts";
import type { Answer, FailedAnswer } from "#kube/client/answer.ts";
import { createSemaphore } from "#kube/client/semaphore.ts";
import { createAbortPatience } from "#kube/client/time-limit.ts";

/** Why an object is left unchanged. */
export type Stop =
  /** The object has changed since it was read. */
  | { readonly kind: "conflict"; readonly because: Reason; readonly afterSeconds: number }
  | { readonly kind: "skip"; readonly because: Reason }
  | {
      readonly kind: "retry";
      readonly because: Reason;
      readonly afterSeconds: number;
      readonly event?: ClusterEvent;
      /** The other objects of the batch would fail as well. */
      readonly halts?: true;
    };

/** The operation that failed, and its time. */
export interface Subject {
  readonly object: ApiObject;
  readonly resource: Resource;
  readonly now: Date;
  /** The verb of a write; undefined for a read. */
  readonly verb?: ClusterWrite["verb"] | undefined;
}

/** The invocation's time is up. */
export const DEADLINE_REACHED: Stop = {
  kind: "retry",
  because: { code: "DeadlineReached", message: "the time of this invocation was up" },
  afterSeconds: 0,
};

/** Creates a conflict for a changed object, with the message of the server or the check that found it. */
export function createConflict(message: string): Stop {
  return { kind: "conflict", because: { code: "Conflict", message }, afterSeconds: 1 };
}

/** Returns what a failed answer means for the object and for the rest of the batch. */
export function stopFor(answer: FailedAnswer, subject: Subject): Stop {
  const because = (code: string): Reason => ({ code, message: answer.message });
  switch (answer.kind) {
    case "conflict":
    case "exists":
      return createConflict(answer.message);
    case "gone":
      return { kind: "skip", because: because("Gone") };
    case "rejected":
      return createRejectionStop(answer, subject);
    case "throttled":
      return { kind: "retry", because: because("Throttled"), afterSeconds: answer.retryAfterSeconds };
    case "unauthenticated":
      return { kind: "retry", because: because("Unauthenticated"), afterSeconds: 5, halts: true };
    case "unavailable": {
      if (answer.code === "Aborted") return DEADLINE_REACHED;
      if (answer.code === "AnswerTooLarge")
        return { kind: "retry", because: because("ClusterLimited"), afterSeconds: UNREADABLE_WAIT_SECONDS };
      if (answer.code === "TimedOut")
        return { kind: "retry", because: because("Unavailable"), afterSeconds: UNANSWERED_WAIT_SECONDS };
      const stop: Stop = { kind: "retry", because: because("Unavailable"), afterSeconds: 2 };
      return answer.code !== undefined && UNREACHED.has(answer.code) ? { ...stop, halts: true } : stop;
    }
  }
}

/** A server with such answers is unhealthy or hostile. */
const UNREADABLE_WAIT_SECONDS = 30;

/** As long as the answer was awaited. */
const UNANSWERED_WAIT_SECONDS = 10;

/** Whether a request used its whole timeout without a usable answer. */
export function isUnanswered({ code }: { readonly code: string | undefined }): boolean {
  return code === "TimedOut" || code === "AnswerTooLarge";
}

/** Codes of a failed connection: the other objects of the batch would only wait for the same. */
const UNREACHED: ReadonlySet<string> = new Set([
  "ConnectionRefused",
  "UnknownHost",
  "AddressRefused",
  "NotTrusted",
  "WrongName",
  "NotHttp2",
  "ConnectFailed",
  "ConnectTimedOut",
  "CredentialUnavailable",
  "Closed",
]);

function createRejectionStop(
  answer: Extract<Answer, { readonly kind: "rejected" }>,
  { object, resource, now, verb }: Subject,
): Stop {
  const code = answer.status === 403 ? "Forbidden" : "Rejected";
  return {
    kind: "retry",
    because: { code, message: answer.message },
    afterSeconds: getRejectionBackoff(object, now),
    event:
      verb === "delete" && resource.kind === NODES.kind
        ? buildClusterEvent("DeletingNodeFailed", code, {
            node: getNameFact(object),
            words: getServerMessageFact(answer),
          })
        : buildClusterEvent("{kind}UpdateRejected", code, {
            kind: getKindFact(toReference(resource, object)),
            words: getServerMessageFact(answer),
          }),
  };
}

/**
 * Returns the object's age as the wait, from 30 seconds to 10 minutes; the wait thus doubles each time
 * without memory.
 */
function getRejectionBackoff({ metadata }: ApiObject, now: Date): number {
  const ageSeconds = (now.getTime() - Date.parse(metadata.creationTimestamp)) / 1_000;
  return Number.isFinite(ageSeconds) ? Math.round(Math.min(600, Math.max(30, ageSeconds))) : 30;
}

/** An object's permit for cloud changes, which it acquires once and keeps to its end. */
export interface ChangePermit {
  /**
   * Resolves to `now` if the permit came at once or was already held. Resolves to `after others` if others changed
   * the cloud first, and to `never` if the time is up.
   */
  acquire(): Promise<"now" | "after others" | "never">;
  /** Ends the permit, whether it was granted or not. */
  release(): void;
}

/**
 * Creates the change permits of a batch, `most` at a time. The account's quotas then finish some objects
 * instead of leaving all half done, which would observe each of them again.
 */
export function createChangePermits(most: number, deadline: AbortSignal): () => ChangePermit {
  const semaphore = createSemaphore(() => most, Number.POSITIVE_INFINITY);
  let ended = 0;
  return () => {
    let hasCome = false;
    return {
      async acquire() {
        if (hasCome) return "now";
        const before = ended;
        if ((await semaphore.acquire(createAbortPatience(deadline))) !== "entered") return "never";
        hasCome = true;
        return ended === before ? "now" : "after others";
      },
      release() {
        if (!hasCome) return;
        hasCome = false;
        ended += 1;
        semaphore.release();
      },
    };
  };
}
