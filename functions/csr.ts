import { csrController } from "#functions/parts/csr-controller.ts";
import { createLambdaFunction } from "#functions/parts/lambda-function.ts";

/** Lambda handler of the csr-approver, which decides on kubelets' serving certificates. */
export const handler = await createLambdaFunction(csrController);
