import type { Controller } from "#core/controller.ts";
import { controllerFunction } from "#functions/parts/controller-function.ts";
import { lambdaWorld } from "#functions/parts/lambda-world.ts";
import type { PlatformFunction } from "#functions/parts/platform-function.ts";

/**
 * A controller as a deployed function. Resolves when what can be prepared ahead of events is: the platform waits for the
 * module that exports it, and nobody but the platform may import that module.
 */
export async function lambdaFunction(controller: Controller): Promise<PlatformFunction> {
  const world = lambdaWorld(process.env);
  await world.prepare();
  return controllerFunction(controller, world);
}
