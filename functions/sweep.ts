import { createSweepDependencies, createSweepFunction } from "#functions/parts/sweep-function.ts";

/**
 * Lambda handler of the sweep, invoked every minute: it finds what no relay has delivered and sends it to the
 * other functions.
 */
export const handler = createSweepFunction(createSweepDependencies(process.env));
