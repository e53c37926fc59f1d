import type { ErrorMeaning } from "#clouds/http/error-meaning.ts";
import type { CloudFault, OutcomeOf } from "#clouds/outcome.ts";
import type { InstanceAnswer } from "#core/instance.ts";

/** Why a request brought nothing, in the words of an answer. */
export interface Fault extends CloudFault {
  /** The HTTP status, where there was an answer. */
  readonly status?: number;
  /** What the cloud's own code, or else the status, means. */
  readonly meaning?: ErrorMeaning;
  /** The cloud's own name for what went wrong, where the answer was its own. */
  readonly errorId?: string;
  /** The key of the configuration that is wrong for sure, where one is. */
  readonly key?: string;
}

/** What a request brought. */
export type Outcome<Value> = OutcomeOf<Value, Fault>;

/** What is said where nothing was asked yet; `title` is how sentences call the cloud. */
export function abortedBefore(title: string) {
  return { kind: "error", code: "Aborted", message: `aborted before ${title} was asked` } as const;
}

/** The same fault as the answer for a node; `subject` says for whom what was looked for. */
export function answerOf({ code, message }: Fault, subject: string): InstanceAnswer {
  return { kind: "error", code, message: `${subject}: ${message}`.slice(0, MAX_MESSAGE).toWellFormed() };
}

/** Parts of a message are words of a server, of which one that talks rubbish may send many. */
const MAX_MESSAGE = 2_000;
