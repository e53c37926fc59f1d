import { nodeLifecycleController } from "#core/node-lifecycle/controller.ts";
import { openDeployedFleetBrake } from "#functions/parts/deployed-fleet-brake.ts";
import { createLambdaFunctionWith } from "#functions/parts/lambda-function.ts";

/**
 * Lambda handler of the cloud-node-lifecycle-controller: it marks nodes that are shut down and deletes nodes
 * whose instance is gone.
 */
export const handler = await createLambdaFunctionWith(
  { fleetBrake: openDeployedFleetBrake(process.env) },
  nodeLifecycleController,
);
