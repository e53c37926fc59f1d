import {
  GetAccountSettingsCommand,
  GetFunctionConcurrencyCommand,
  LambdaClient,
} from "@aws-sdk/client-lambda";
import type { Check, CheckContext, LambdaReader } from "#cli/doctor/check.ts";
import { findFallbackLimits } from "#cli/relay/fallback-limits.ts";
import type { FunctionNames } from "#cli/relay/function-names.ts";
import type { Cluster } from "#config/cluster.ts";
import { getAwsCredentialsAdvice } from "#core/aws-credentials.ts";
import {
  type CheckResult,
  reportFailure,
  reportOk,
  reportSkipped,
  reportWarning,
} from "#core/check-result.ts";
import { getFunctionName } from "#core/controllers.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** Below this, bursts are throttled, as in new accounts, which may run ten at a time. */
const FEW = 100;

/**
 * Checks whether the functions' account may run as many invocations as the cluster may need, or, over HTTP, whether
 * the functions may be invoked.
 */
export const deployedFunctions: Check = {
  name: "functions",
  async run({ reached: { cluster }, lambda, http }, signal) {
    if (http !== undefined) return checkFunctionUrls(http, cluster, signal);
    if (lambda === undefined)
      return reportSkipped(
        "no functions are configured: give --function-prefix or --function-arn, or --platform http with --function-url",
      );
    try {
      const names = [...new Set(cluster.controllers.map((name) => lambda.functionName(name)))];
      const [account, ...reserved] = await Promise.all([
        lambda.account(signal),
        ...names.map(async (name) => ({ name, executions: await lambda.reserved(name, signal) })),
      ]);
      const stopped = reserved.filter(({ executions }) => executions === 0).map(({ name }) => name);
      if (stopped.length > 0)
        return reportFailure(
          `may never run, as 0 executions are reserved for them: ${stopped.join(", ")}`,
          "aws lambda delete-function-concurrency --function-name NAME, or reserve more",
        );
      const least = Math.min(...reserved.map(({ executions }) => executions ?? account.unreserved));
      const words = `the account may run ${account.total} at a time, ${account.unreserved} of them unreserved`;
      const { invocations } = cluster.limits;
      if (least < invocations)
        return reportWarning(
          `${words}; a function of this cluster may run ${least}, and ${invocations} may be in flight for it (limits.invocations)`,
          "ask AWS for a higher quota of concurrent executions, or lower limits.invocations",
        );
      if (account.total < FEW)
        return reportWarning(
          words,
          "ask AWS for a higher quota of concurrent executions: a burst in one cluster is throttled, and all others with it",
        );
      return reportOk(words);
    } catch (error) {
      const advice = error instanceof Error ? getAwsCredentialsAdvice(error.name) : undefined;
      return reportFailure(`Lambda did not answer: ${getErrorMessage(error)}`, advice ?? ASK);
    }
  },
};

/** HTTP has no account whose limits could be read: a function that is busy answers 429. */
async function checkFunctionUrls(
  { dryRun }: NonNullable<CheckContext["http"]>,
  { controllers }: Cluster,
  signal: AbortSignal,
): Promise<CheckResult> {
  const byFunction = new Map(controllers.map((name) => [getFunctionName(name), name]));
  const reasons = await Promise.all([...byFunction.values()].map((controller) => dryRun(controller, signal)));
  const faults = reasons.flatMap((reason) =>
    reason === undefined ? [] : [`${reason.code}: ${reason.message}`],
  );
  if (faults.length > 0)
    return reportFailure(
      faults.join("; "),
      "see the function's URL, its log, and what this command signs in with",
    );
  return reportOk(`they may be invoked: ${[...byFunction.keys()].join(", ")}`);
}

const ASK =
  "see the region, the prefix or ARN, and that lambda:GetAccountSettings and lambda:GetFunctionConcurrency are allowed for the credentials of this command";

/**
 * Creates a reader of Lambda's limits, at `AWS_ENDPOINT_URL_LAMBDA` if that is set. Each value is read once
 * for all clusters.
 */
export function createLambdaReader(
  functionName: FunctionNames,
  region: string | undefined,
): LambdaReader & { close(): void } {
  const client = new LambdaClient({ ...(region === undefined ? {} : { region }), maxAttempts: 2 });
  let account: ReturnType<LambdaReader["account"]> | undefined;
  const reserved = new Map<string, Promise<number | undefined>>();
  return {
    functionName,
    account(abortSignal) {
      account ??= client.send(new GetAccountSettingsCommand({}), { abortSignal }).then(({ AccountLimit }) => {
        const total = AccountLimit?.ConcurrentExecutions;
        if (total === undefined) throw new Error("GetAccountSettings: the answer holds no limits");
        return { total, unreserved: AccountLimit?.UnreservedConcurrentExecutions ?? total };
      });
      return account;
    },
    reserved(name, abortSignal) {
      const known =
        reserved.get(name) ??
        client
          .send(new GetFunctionConcurrencyCommand({ FunctionName: name }), { abortSignal })
          .then(({ ReservedConcurrentExecutions }) => ReservedConcurrentExecutions);
      reserved.set(name, known);
      return known;
    },
    close: () => client.destroy(),
  };
}

/**
 * Checks what a relay with these sign-ins could not do of a cluster's work while the function platform fails.
 */
export const fallback: Check = {
  name: "fallback",
  needs: ["api-server"],
  async run({ reached }, signal) {
    if (reached.cluster.writes === "relay")
      return reportSkipped("with writes: relay the relay writes in any case");
    const limits = await findFallbackLimits(
      reached.cluster,
      // The transports of the context are closed by their opener.
      async (_, role) => ({
        ...(await reached.api(role).catch(() => reached.api("relay"))),
        close: async () => undefined,
      }),
      signal,
    );
    if (limits === undefined)
      return reportOk("with what can be read here all of the functions' work can be done");
    return reportWarning(limits, "let the relay's process read what these functions sign in with");
  },
};
