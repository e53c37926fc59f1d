import type { ErrorMeaning } from "#clouds/http/error-meaning.ts";
import type { BaseOutcome, CloudError } from "#clouds/outcome.ts";
import type { InstanceAnswer } from "#core/instance.ts";

/** The reason why a request failed, in the form of an answer. */
export interface Fault extends CloudError {
  /** The HTTP status, if there was an answer. */
  readonly status?: number;
  /** The meaning of the cloud's own code, or else of the status. */
  readonly meaning?: ErrorMeaning;
  /** The cloud's error code, if the answer was its own. */
  readonly errorId?: string;
  /** The key of the configuration that is proven wrong, if any. */
  readonly key?: string;
}

/** The result of a request. */
export type Outcome<Value> = BaseOutcome<Value, Fault>;

/** Builds the answer for a call aborted before its first request; `title` is the cloud's name in messages. */
export function createAbortedAnswer(title: string) {
  return { kind: "error", code: "Aborted", message: `aborted before a request to ${title}` } as const;
}

/** Converts a fault to a node's answer; `subject` names the node and the query. */
export function toErrorAnswer({ code, message }: Fault, subject: string): InstanceAnswer {
  return { kind: "error", code, message: `${subject}: ${message}`.slice(0, MAX_MESSAGE).toWellFormed() };
}

/** Messages contain servers' text, and a faulty server may send a lot. */
const MAX_MESSAGE = 2_000;
