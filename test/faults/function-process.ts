import { signInRoleOf } from "#config/sign-in.ts";
import { startLambda } from "#emulators/lambda/server.ts";
import { controllerFunction } from "#functions/parts/controller-function.ts";
import { CONTROLLER_NAMES, loadControllers } from "#functions/parts/controllers.ts";
import { lambdaDependencies } from "#functions/parts/lambda-dependencies.ts";
import { FUNCTION_TIMEOUT_MS, functionNameOf } from "#test/faults/functions.ts";

// The deployed functions behind Lambda's Invoke API, in a process of their own that has nothing else in it.

const controllers = await loadControllers(CONTROLLER_NAMES);
const server = await startLambda({
  functions: Object.fromEntries(
    controllers.map((controller) => [
      functionNameOf(controller.name),
      controllerFunction(controller, {
        ...lambdaDependencies(signInRoleOf(controller.functionName), process.env),
        log: () => undefined,
      }),
    ]),
  ),
  timeoutMs: FUNCTION_TIMEOUT_MS,
  concurrency: 1_000,
});
process.stdout.write(`listening on ${server.url}\n`);
