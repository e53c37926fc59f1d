import { admissionFunction } from "#functions/parts/admission/admission-function.ts";
import { admissionWorld } from "#functions/parts/admission/admission-world.ts";

/** What API servers ask by the function's URL before a Service is written: whether it can have the load balancer that it asks for. */
export const handler = admissionFunction(admissionWorld(process.env));
