import { nodeLifecycleController } from "#core/node-lifecycle/controller.ts";
import { deployedFleetBrake } from "#functions/parts/deployed-fleet-brake.ts";
import { lambdaFunctionWith } from "#functions/parts/lambda-function.ts";

/** The cloud-node-lifecycle-controller as Lambda calls it: marks nodes that are shut down, and deletes those whose instance is gone. */
export const handler = await lambdaFunctionWith(
  { fleetBrake: deployedFleetBrake(process.env) },
  nodeLifecycleController,
);
