import type { Check } from "#cli/doctor/check.ts";
import { getAwsCredentialsAdvice } from "#core/aws-credentials.ts";
import { reportFailure, reportOk, reportSkipped, reportWarning } from "#core/check-result.ts";
import { getErrorMessage } from "#core/error-message.ts";

/** Below this, bursts are throttled, as in new accounts, which may run ten at a time. */
const FEW = 100;

/** Checks whether the functions' account may run as many invocations as the cluster may need. */
export const lambdaConcurrency: Check = {
  name: "functions",
  async run({ reached: { cluster }, lambda }, signal) {
    if (lambda === undefined)
      return reportSkipped("no functions are configured: give --function-prefix or --function-arn");
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

const ASK =
  "see the region, the prefix or ARN, and that lambda:GetAccountSettings and lambda:GetFunctionConcurrency are allowed for the credentials of this command";
