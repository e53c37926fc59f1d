import type { InstanceErrorCode } from "#core/instance.ts";

/**
 * The reason why a request to a cloud failed, in the form of an answer; a cloud's own fault type adds
 * details.
 */
export interface CloudError {
  readonly code: InstanceErrorCode;
  readonly message: string;
  /** A retry may succeed: the connection broke, or the service failed. */
  readonly transient?: true;
}

/** The result of a request. */
export type BaseOutcome<Value, Fault extends CloudError> =
  | { readonly kind: "ok"; readonly value: Value }
  | { readonly kind: "fault"; readonly fault: Fault };

export function ok<Value>(value: Value): BaseOutcome<Value, never> {
  return { kind: "ok", value };
}

export function fault(code: InstanceErrorCode, message: string): BaseOutcome<never, CloudError> {
  return { kind: "fault", fault: { code, message } };
}
