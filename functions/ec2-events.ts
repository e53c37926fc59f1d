import {
  createEc2EventsDependencies,
  createEc2EventsFunction,
} from "#functions/parts/ec2-events/ec2-events-function.ts";
import { lambda } from "#platforms/lambda/platform.ts";

/**
 * Lambda handler for EC2 state changes from EventBridge: nodes of ending instances are checked at once, not
 * at the next resync.
 */
export const handler = createEc2EventsFunction(
  createEc2EventsDependencies(process.env, lambda.openDeployment),
);
