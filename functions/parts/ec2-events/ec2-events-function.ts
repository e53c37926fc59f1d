import { getErrorMessage } from "#core/sanitize-text.ts";
import {
  type Ec2EventResult,
  type Ec2EventsDependencies,
  requestResync,
} from "#functions/parts/ec2-events/request-resync.ts";
import { parseStateChange } from "#functions/parts/ec2-events/state-change.ts";
import { createDeadline, type FunctionContext } from "#functions/parts/platform-function.ts";

/** The handler that the platform calls; rejects with `Ec2EventRejected`, or if the clusters are unknown. */
export type Ec2EventsFunction = (event: unknown, context: FunctionContext) => Promise<Ec2EventResult>;

/** Creates the function for EventBridge events; it returns counts and logs the details. */
export function createEc2EventsFunction(world: Ec2EventsDependencies): Ec2EventsFunction {
  return async (event, context) => {
    const { signal } = createDeadline(context);
    const { awsRequestId: requestId, invokedFunctionArn } = context;
    try {
      const change = parseStateChange(event);
      return await requestResync(change, world, { ownAccount: parseAccount(invokedFunctionArn), signal });
    } catch (error) {
      const code = error instanceof Error ? error.name : "Error";
      world.log({
        level: "error",
        event: "InvocationFailed",
        requestId,
        code,
        message: getErrorMessage(error),
      });
      throw error;
    }
  };
}

/** Parses `arn:aws:lambda:<region>:<account>:function:<name>`. */
function parseAccount(arn: string | undefined): string | undefined {
  return arn?.split(":")[4];
}
