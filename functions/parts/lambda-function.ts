import { signInRoleOf } from "#config/sign-in.ts";
import type { Controller } from "#core/controller.ts";
import { controllerFunction } from "#functions/parts/controller-function.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import { functionTracer } from "#functions/parts/function-tracer.ts";
import { lambdaDependencies } from "#functions/parts/lambda-dependencies.ts";
import type { PlatformFunction } from "#functions/parts/platform-function.ts";

/** What one function has beside what all have. */
export type Further = Pick<Dependencies, "fleetBrake">;

/**
 * A controller as a deployed function, and those that are beside it. Resolves when what can be prepared ahead of events is: the platform waits for the
 * module that exports it, and nobody but the platform may import that module.
 */
export async function lambdaFunction(
  controller: Controller,
  ...beside: readonly Controller[]
): Promise<PlatformFunction> {
  return lambdaFunctionWith({}, controller, ...beside);
}

/** The same with what this function alone has, so that no other one carries it. */
export async function lambdaFunctionWith(
  further: Further,
  controller: Controller,
  ...beside: readonly Controller[]
): Promise<PlatformFunction> {
  const dependencies = lambdaDependencies(signInRoleOf(controller.functionName), process.env);
  const [tracer] = await Promise.all([
    functionTracer(controller.functionName, process.env, dependencies.log),
    dependencies.prepare(),
  ]);
  return controllerFunction([controller, ...beside], { ...dependencies, ...further, tracer });
}
