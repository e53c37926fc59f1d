import type { CloudFault, OutcomeOf } from "#clouds/outcome.ts";
import { CapabilityErrorCode, type Observation } from "#core/capability.ts";

/** Why something could not be done or said. */
export interface Failure {
  readonly kind: "error";
  readonly code: CapabilityErrorCode;
  readonly message: string;
}

/** What a request brought, as the answer to a question. */
export function observationOf(outcome: OutcomeOf<unknown, CloudFault>): Observation {
  return outcome.kind === "ok" ? { kind: "observed", state: outcome.value } : failureOf(outcome.fault);
}

/** Why it brought nothing, as an answer; what a capability has no word for passes by itself. */
export function failureOf({ code, message }: CloudFault): Failure {
  return { kind: "error", code: CapabilityErrorCode.safeParse(code).data ?? "Unavailable", message };
}

/** What is asked for is wrong, and would be as wrong later. */
export function invalid(message: string): Failure {
  return { kind: "error", code: "Invalid", message };
}
