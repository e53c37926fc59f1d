import { nodeClaimController } from "#core/look-ahead/controller.ts";
import { nodeController } from "#core/node/controller.ts";
import { kubeletCsrController } from "#functions/parts/kubelet-csr-controller.ts";
import { createLambdaFunction } from "#functions/parts/lambda-function.ts";

/**
 * Lambda handler of the cloud-node-controller: it initializes nodes, keeps them in line with their instances,
 * and looks up announced machines before their nodes join.
 */
export const handler = await createLambdaFunction(nodeController, nodeClaimController, kubeletCsrController);
