import { apiServer, clock, createIdentityCheck } from "#cli/doctor/api-server.ts";
import type { Check, CheckContext, NamedFinding } from "#cli/doctor/check.ts";
import { cloudCredentials, cloudNetwork } from "#cli/doctor/cloud.ts";
import {
  deletionState,
  kubelets,
  relayLease,
  secondCcm,
  stopSwitchCheck,
} from "#cli/doctor/cluster-state.ts";
import { CONTROLLER_CHECKS } from "#cli/doctor/controller-checks.ts";
import { deployedFunctions, fallback } from "#cli/doctor/lambda.ts";
import { createPermissionsCheck } from "#cli/doctor/permissions.ts";
import { type CheckResult, reportFailure, reportSkipped } from "#core/check-result.ts";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";

/** Lists the checks of the connections to the API server only. */
export function listConnectionChecks({ signers }: Pick<CheckContext, "signers">): readonly Check[] {
  return [
    apiServer,
    ...signers.flatMap((signer) => [createIdentityCheck(signer), createPermissionsCheck(signer)]),
  ];
}

/** Lists all checks of a cluster, in the order of the output; a new check is a line here. */
export function listChecks(
  { signers }: Pick<CheckContext, "signers">,
  hasFallback = false,
): readonly Check[] {
  return [
    stopSwitchCheck,
    apiServer,
    ...signers.flatMap((signer) => [createIdentityCheck(signer), createPermissionsCheck(signer)]),
    kubelets,
    cloudCredentials,
    cloudNetwork,
    ...CONTROLLER_CHECKS,
    secondCcm,
    deletionState,
    relayLease,
    deployedFunctions,
    ...(hasFallback ? [fallback] : []),
    clock,
  ];
}

/** The time limit of one check. */
export const CHECK_TIMEOUT_MS = 20_000;

/**
 * Runs all checks concurrently and resolves with their findings, in order. No check can fail or delay
 * another; a check that needs a failed one is skipped. Never rejects.
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
    // After this all checks are in the map, whatever their order.
    await Promise.resolve();
    for (const need of check.needs ?? []) {
      const needed = await running.get(need);
      if (needed?.isUnmet !== true) continue;
      return { finding: { check: check.name, ...reportSkipped(`needs ${need}`) }, isUnmet: true };
    }
    const { message, ...finding } = await runOne(check, context, timeoutMs);
    return {
      finding: { check: check.name, ...finding, message: sanitizeText(message, MAX_CHARACTERS) },
      isUnmet: finding.outcome === "failed",
    };
  }
}

interface Outcome {
  readonly finding: NamedFinding;
  readonly isUnmet: boolean;
}

/** The limit of a message, which may contain a tenant's text. */
const MAX_CHARACTERS = 1_000;

async function runOne(check: Check, context: CheckContext, timeoutMs: number): Promise<CheckResult> {
  const limit = AbortSignal.timeout(timeoutMs);
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(new Error(`no answer within ${timeoutMs / 1_000} s`));
  limit.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([check.run(context, limit), timeUp]);
  } catch (error) {
    return reportFailure(getErrorMessage(error), "repair what it names, and run doctor again");
  } finally {
    limit.removeEventListener("abort", giveUp);
  }
}
