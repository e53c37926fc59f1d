import { createAuditDependencies, createAuditFunction } from "#functions/parts/audit/audit-function.ts";
import { lambda } from "#platforms/lambda/platform.ts";

/**
 * Lambda handler of the audit webhook: API servers report changed objects to its URL, and it sends those that
 * need work to the other functions, without a relay.
 */
export const handler = createAuditFunction(createAuditDependencies(process.env, lambda.openDeployment));
