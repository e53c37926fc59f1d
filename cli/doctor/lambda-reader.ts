import {
  GetAccountSettingsCommand,
  GetFunctionConcurrencyCommand,
  LambdaClient,
} from "@aws-sdk/client-lambda";
import type { LambdaReader } from "#cli/doctor/check.ts";
import type { FunctionNames } from "#cli/function-names.ts";

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
