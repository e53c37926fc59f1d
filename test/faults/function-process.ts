import { getSignInRole } from "#config/sign-in.ts";
import { startLambda } from "#emulators/lambda/server.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { CONTROLLER_NAMES, groupByFunction, loadControllers } from "#functions/parts/controllers.ts";
import { createDeployedDependencies } from "#functions/parts/deployed-dependencies.ts";
import { FUNCTION_PREFIX, FUNCTION_TIMEOUT_MS } from "#test/faults/functions.ts";

// Runs the deployed functions behind Lambda's Invoke API, in their own process without anything else.

const controllers = await loadControllers(CONTROLLER_NAMES);
const server = await startLambda({
  functions: Object.fromEntries(
    [...groupByFunction(controllers)].map(([functionName, carried]) => [
      `${FUNCTION_PREFIX}${functionName}`,
      createControllerFunction(carried, {
        ...createDeployedDependencies(getSignInRole(functionName), process.env),
        log: () => undefined,
      }),
    ]),
  ),
  timeoutMs: FUNCTION_TIMEOUT_MS,
  concurrency: 1_000,
});
process.stdout.write(`listening on ${server.url}\n`);
