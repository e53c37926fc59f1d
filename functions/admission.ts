import { createAdmissionDependencies } from "#functions/parts/admission/admission-dependencies.ts";
import { createAdmissionFunction } from "#functions/parts/admission/admission-function.ts";

/**
 * Lambda handler of the admission function: API servers ask its URL before a Service is written whether its
 * load balancer is possible.
 */
export const handler = createAdmissionFunction(createAdmissionDependencies(process.env));
