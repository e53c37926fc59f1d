import { csrController } from "#functions/parts/csr-controller.ts";
import { lambdaFunction } from "#functions/parts/lambda-function.ts";

/** The csr-approver as Lambda calls it: decides on the serving certificates that kubelets ask for. */
export const handler = await lambdaFunction(csrController);
