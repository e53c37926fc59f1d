import type { InstanceAnswer, InstanceErrorCode } from "#core/instance.ts";

/** Why a request brought nothing, in the words of an answer. */
export interface Fault {
  readonly code: InstanceErrorCode;
  readonly message: string;
  /** The HTTP status, where there was an answer. */
  readonly status?: number;
  /** The cloud's own name for what went wrong, where the answer was its own. */
  readonly errorId?: string;
  /** Asking the same once more may well succeed: the connection broke, or the service failed on its side. */
  readonly transient?: true;
}

/** What a request brought. */
export type Outcome<Value> =
  | { readonly kind: "ok"; readonly value: Value }
  | { readonly kind: "fault"; readonly fault: Fault };

export function ok<Value>(value: Value): Outcome<Value> {
  return { kind: "ok", value };
}

export function fault(code: InstanceErrorCode, message: string): Outcome<never> {
  return { kind: "fault", fault: { code, message } };
}

/** The same fault as the answer for a node; `subject` says for whom what was looked for. */
export function answerOf({ code, message }: Fault, subject: string): InstanceAnswer {
  return { kind: "error", code, message: `${subject}: ${message}` };
}
