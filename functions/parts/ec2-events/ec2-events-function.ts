import { messageOf } from "#core/message-of.ts";
import { deadlineOf, type FunctionContext } from "#functions/parts/deadline.ts";
import {
  type Ec2EventResult,
  type Ec2EventsWorld,
  lookAtOnce,
} from "#functions/parts/ec2-events/look-at-once.ts";
import { parseStateChange } from "#functions/parts/ec2-events/state-change.ts";

/** The function as a platform calls it; rejects with `Ec2EventRejected`, or where nobody can tell which clusters there are. */
export type Ec2EventsFunction = (event: unknown, context: FunctionContext) => Promise<Ec2EventResult>;

/** An event of EventBridge in, numbers out; what they are of is in the log. */
export function ec2EventsFunction(world: Ec2EventsWorld): Ec2EventsFunction {
  return async (event, context) => {
    const { signal } = deadlineOf(context);
    const { awsRequestId: requestId, invokedFunctionArn } = context;
    try {
      const change = parseStateChange(event);
      return await lookAtOnce(change, world, { ownAccount: accountOf(invokedFunctionArn), signal });
    } catch (error) {
      const code = error instanceof Error ? error.name : "Error";
      world.log({ level: "error", event: "InvocationFailed", requestId, code, message: messageOf(error) });
      throw error;
    }
  };
}

/** Of `arn:aws:lambda:<region>:<account>:function:<name>`. */
function accountOf(arn: string | undefined): string | undefined {
  return arn?.split(":")[4];
}
