import { tell } from "#core/cluster-events.ts";
import type { ApiObject } from "#core/controller.ts";
import type { Because, ClusterEvent, ClusterWrite } from "#core/decision.ts";
import { referenceTo } from "#core/decisions.ts";
import { NODES, type Resource } from "#core/resources/resource.ts";
import { kindOf, nameOf, wordsOfServer } from "#core/tenant-fact.ts";
import type { Answer, FailedAnswer } from "#kube/client/answer.ts";

/** Why an object is left as it is. */
export type Stop =
  /** It is not as it was read. */
  | { readonly kind: "conflict"; readonly because: Because; readonly afterSeconds: number }
  | { readonly kind: "skip"; readonly because: Because }
  | {
      readonly kind: "retry";
      readonly because: Because;
      readonly afterSeconds: number;
      readonly event?: ClusterEvent;
      /** No other object of the batch would fare better. */
      readonly halts?: true;
    };

/** What failed of an object, and when. */
export interface Subject {
  readonly object: ApiObject;
  readonly resource: Resource;
  readonly now: Date;
  /** Of the write; undefined where it was a read. */
  readonly verb?: ClusterWrite["verb"] | undefined;
}

/** The time of an invocation is up. */
export const DEADLINE_REACHED: Stop = {
  kind: "retry",
  because: { code: "DeadlineReached", message: "the time of this invocation was up" },
  afterSeconds: 0,
};

/** An object that is not as it was read, in the words of whoever said so. */
export function conflict(message: string): Stop {
  return { kind: "conflict", because: { code: "Conflict", message }, afterSeconds: 1 };
}

/** What an answer other than success means for the object, and for the rest of the batch. */
export function stopFor(answer: FailedAnswer, subject: Subject): Stop {
  const because = (code: string): Because => ({ code, message: answer.message });
  switch (answer.kind) {
    case "conflict":
    case "exists":
      return conflict(answer.message);
    case "gone":
      return { kind: "skip", because: because("Gone") };
    case "rejected":
      return rejection(answer, subject);
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

/** A server that answers like that is not well, or not meant well. */
const UNREADABLE_WAIT_SECONDS = 30;
/** As long as the answer was waited for. */
const UNANSWERED_WAIT_SECONDS = 10;

/** Whether nothing of an answer was of use, and it took as long as one may. */
export function isUnanswered({ code }: { readonly code: string | undefined }): boolean {
  return code === "TimedOut" || code === "AnswerTooLarge";
}

/** No connection can be made at all: the other objects of the batch would only wait for the same. */
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

function rejection(
  answer: Extract<Answer, { readonly kind: "rejected" }>,
  { object, resource, now, verb }: Subject,
): Stop {
  const code = answer.status === 403 ? "Forbidden" : "Rejected";
  return {
    kind: "retry",
    because: { code, message: answer.message },
    afterSeconds: rejectionBackOffSeconds(object, now),
    event:
      verb === "delete" && resource.kind === NODES.kind
        ? tell("DeletingNodeFailed", code, { node: nameOf(object), words: wordsOfServer(answer) })
        : tell("{kind}UpdateRejected", code, {
            kind: kindOf(referenceTo(resource, object)),
            words: wordsOfServer(answer),
          }),
  };
}

/** As long as the object is old, which doubles the wait each time without any memory; 30 seconds to 10 minutes. */
function rejectionBackOffSeconds({ metadata }: ApiObject, now: Date): number {
  const ageSeconds = (now.getTime() - Date.parse(metadata.creationTimestamp)) / 1_000;
  return Number.isFinite(ageSeconds) ? Math.round(Math.min(600, Math.max(30, ageSeconds))) : 30;
}
