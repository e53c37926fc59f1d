import { createSweepDependencies, createSweepFunction } from "#functions/parts/sweep-function.ts";
import { lambda } from "#platforms/lambda/platform.ts";

/**
 * Lambda handler of the sweep, invoked every minute: it finds what no relay has delivered and sends it to the
 * other functions.
 */
export const handler = createSweepFunction(createSweepDependencies(process.env, lambda.openDeployment));
