import { createEntrance } from "#clouds/entrance.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { type CapabilityCalls, createCapabilityCalls } from "#clouds/http/capability-calls.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { failureOf } from "#clouds/observation.ts";
import type { ActionAnswer } from "#core/capability.ts";

/** Calls that spend of the same quota as nodes; what can wait does so while less than so many `times` the reserve is left. */
export function callsWithin(budget: Budget, times?: number): CapabilityCalls {
  return createCapabilityCalls({
    title: "DigitalOcean",
    enter: createEntrance(budget),
    isHeldBack: () => budget.isLow(times),
  });
}

/** What came of a request, as the answer to an action. */
export function actionAnswerOf(outcome: Outcome<unknown>): ActionAnswer {
  if (outcome.kind === "ok") return { kind: "done", result: outcome.value ?? null };
  const { meaning, errorId, message } = outcome.fault;
  const reason = errorId === undefined ? {} : { reason: errorId };
  // It is gone, or there is one by now, or something else is being done with it.
  if (meaning === "NotFound" || meaning === "Conflict") return { kind: "conflict", message, ...reason };
  if (meaning === "Invalid") return { kind: "error", code: "Invalid", message, ...reason };
  return { ...failureOf(outcome.fault), ...reason };
}
