import type { Outcome } from "#clouds/aws/errors.ts";
import { ok } from "#clouds/outcome.ts";

/** Combines outcomes that are needed together: all their values, or the first fault. */
export function combineOutcomes<Values extends readonly unknown[]>(
  outcomes: {
    readonly [Place in keyof Values]: Outcome<Values[Place]>;
  },
): Outcome<Values> {
  const values: unknown[] = [];
  for (const outcome of outcomes as readonly Outcome<unknown>[]) {
    if (outcome.kind === "fault") return outcome;
    values.push(outcome.value);
  }
  return ok(values as unknown as Values);
}
