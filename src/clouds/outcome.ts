import { CapabilityErrorCode, type Observation } from "#core/capability.ts";
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

/** Why an action or an answer failed. */
interface Failure {
  readonly kind: "error";
  readonly code: CapabilityErrorCode;
  readonly message: string;
}

/** Converts a request's result to the answer of a question. */
export function toObservation(outcome: BaseOutcome<unknown, CloudError>): Observation {
  return outcome.kind === "ok" ? { kind: "observed", state: outcome.value } : toFailure(outcome.fault);
}

/** Converts a fault to an answer; codes that capabilities do not have count as temporary. */
export function toFailure({ code, message }: CloudError): Failure {
  return { kind: "error", code: CapabilityErrorCode.safeParse(code).data ?? "Unavailable", message };
}

/** The request is invalid, and would be invalid later too. */
export function buildInvalid(message: string): Failure {
  return { kind: "error", code: "Invalid", message };
}
