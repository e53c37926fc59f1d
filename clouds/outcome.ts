import type { InstanceErrorCode } from "#core/instance.ts";

/** Why a request to a cloud brought nothing, in the words of an answer; what more a cloud says of it, its own fault has. */
export interface CloudFault {
  readonly code: InstanceErrorCode;
  readonly message: string;
  /** Asking the same once more may well succeed: the connection broke, or the service failed on its side. */
  readonly transient?: true;
}

/** What a request brought. */
export type OutcomeOf<Value, Fault extends CloudFault> =
  | { readonly kind: "ok"; readonly value: Value }
  | { readonly kind: "fault"; readonly fault: Fault };

export function ok<Value>(value: Value): OutcomeOf<Value, never> {
  return { kind: "ok", value };
}

export function fault(code: InstanceErrorCode, message: string): OutcomeOf<never, CloudFault> {
  return { kind: "fault", fault: { code, message } };
}
