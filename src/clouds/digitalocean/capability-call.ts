import type { Budget } from "#clouds/http/budget.ts";
import { type CapabilityCalls, createCapabilityCalls } from "#clouds/http/capability-calls.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import { toFailure } from "#clouds/outcome.ts";
import type { ActionAnswer } from "#core/capability.ts";

/**
 * Creates calls that spend the same quota as nodes. Questions wait while less than `times` the reserve is
 * left.
 */
export function createCalls(budget: Budget, times?: number): CapabilityCalls {
  return createCapabilityCalls({
    title: "DigitalOcean",
    enter: createInvocationShares(budget),
    isHeldBack: () => budget.isLow(times),
  });
}

/** Converts a request's outcome to the result of an action. */
export function toActionAnswer(outcome: Outcome<unknown>): ActionAnswer {
  if (outcome.kind === "ok") return { kind: "done", result: outcome.value ?? null };
  const { meaning, errorId, message } = outcome.fault;
  const reason = errorId === undefined ? {} : { reason: errorId };
  // It is gone, it exists already, or another change is in progress.
  if (meaning === "NotFound" || meaning === "Conflict") return { kind: "conflict", message, ...reason };
  if (meaning === "Invalid") return { kind: "error", code: "Invalid", message, ...reason };
  return { ...toFailure(outcome.fault), ...reason };
}
