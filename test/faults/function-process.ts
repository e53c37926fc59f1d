import { getSignInRole } from "#config/sign-in.ts";
import { startLambda } from "#emulators/lambda/server.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { CONTROLLER_NAMES, loadControllers } from "#functions/parts/controllers.ts";
import { createLambdaDependencies } from "#functions/parts/lambda-dependencies.ts";
import { FUNCTION_TIMEOUT_MS, getFunctionName } from "#test/faults/functions.ts";

// Runs the deployed functions behind Lambda's Invoke API, in their own process without anything else.

const controllers = await loadControllers(CONTROLLER_NAMES);
const server = await startLambda({
  functions: Object.fromEntries(
    controllers.map((controller) => [
      getFunctionName(controller.name),
      createControllerFunction(controller, {
        ...createLambdaDependencies(getSignInRole(controller.functionName), process.env),
        log: () => undefined,
      }),
    ]),
  ),
  timeoutMs: FUNCTION_TIMEOUT_MS,
  concurrency: 1_000,
});
process.stdout.write(`listening on ${server.url}\n`);
