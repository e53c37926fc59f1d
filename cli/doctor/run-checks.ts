import type { Check, CheckContext, NamedFinding } from "#cli/doctor/check.ts";
import { type Finding, failed, skipped } from "#core/finding.ts";
import { messageOf } from "#core/message-of.ts";
import { shown } from "#core/shown-text.ts";

/** How long one check may take. */
export const CHECK_TIMEOUT_MS = 20_000;

/**
 * Runs all checks side by side and resolves with what each found, in their order. None can fail or hold up another; one that
 * needs what failed is skipped. Never rejects.
 */
export async function runChecks(
  checks: readonly Check[],
  context: CheckContext,
  timeoutMs = CHECK_TIMEOUT_MS,
): Promise<readonly NamedFinding[]> {
  const running = new Map<string, Promise<Outcome>>();
  for (const check of checks) running.set(check.name, outcomeOf(check));
  const outcomes = await Promise.all(running.values());
  return outcomes.map(({ finding }) => finding);

  async function outcomeOf(check: Check): Promise<Outcome> {
    // By then all of them are in the map, whatever their order.
    await Promise.resolve();
    for (const need of check.needs ?? []) {
      const needed = await running.get(need);
      if (needed?.isUnmet !== true) continue;
      return { finding: { check: check.name, ...skipped(`needs ${need}`) }, isUnmet: true };
    }
    const { message, ...finding } = await runOne(check, context, timeoutMs);
    return {
      finding: { check: check.name, ...finding, message: shown(message, MAX_CHARACTERS) },
      isUnmet: finding.outcome === "failed",
    };
  }
}

interface Outcome {
  readonly finding: NamedFinding;
  readonly isUnmet: boolean;
}

/** Of a message; what stands in it may be a tenant's. */
const MAX_CHARACTERS = 1_000;

async function runOne(check: Check, context: CheckContext, timeoutMs: number): Promise<Finding> {
  const limit = AbortSignal.timeout(timeoutMs);
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(new Error(`no answer within ${timeoutMs / 1_000} s`));
  limit.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([check.run(context, limit), timeUp]);
  } catch (error) {
    return failed(messageOf(error), "mend what it says, and run doctor again");
  } finally {
    limit.removeEventListener("abort", giveUp);
  }
}
