import type { BaseOutcome, CloudError } from "#clouds/outcome.ts";
import { CapabilityErrorCode, type Observation } from "#core/capability.ts";

/** Why an action or an answer failed. */
export interface Failure {
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
