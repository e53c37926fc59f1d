import { sweepFunction } from "#functions/parts/sweep-function.ts";
import { sweepWorld } from "#functions/parts/sweep-world.ts";

/** The sweep as Lambda calls it, every minute: finds what no relay has brought, and hands it to the other functions. */
export const handler = sweepFunction(sweepWorld(process.env));
