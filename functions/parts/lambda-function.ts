import { getSignInRole } from "#config/sign-in.ts";
import type { Controller } from "#core/controller.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import { createDeployedDependencies } from "#functions/parts/deployed-dependencies.ts";
import { openFunctionTracer } from "#functions/parts/function-tracer.ts";
import type { PlatformFunction } from "#functions/parts/platform-function.ts";

/** Dependencies that only one function has. */
export type ExtraDependencies = Pick<Dependencies, "fleetBrake">;

/**
 * Creates a deployed function from a controller and its companions. Resolves after preparation ahead of
 * events: the platform waits for the exporting module, so only the platform may import it.
 */
export async function createLambdaFunction(
  controller: Controller,
  ...beside: readonly Controller[]
): Promise<PlatformFunction> {
  return createLambdaFunctionWith({}, controller, ...beside);
}

/** Creates a deployed function with extra dependencies that no other function loads. */
export async function createLambdaFunctionWith(
  further: ExtraDependencies,
  controller: Controller,
  ...beside: readonly Controller[]
): Promise<PlatformFunction> {
  const dependencies = createDeployedDependencies(getSignInRole(controller.functionName), process.env);
  const [tracer] = await Promise.all([
    openFunctionTracer(controller.functionName, process.env, dependencies.log),
    dependencies.prepare(),
  ]);
  return createControllerFunction([controller, ...beside], { ...dependencies, ...further, tracer });
}
