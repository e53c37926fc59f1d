import { messageOf } from "#core/message-of.ts";
import { deadlineOf, type FunctionContext } from "#functions/parts/deadline.ts";
import { withMetric } from "#functions/parts/sweep-metric.ts";
import { type DispatchWorld, type SweepResult, sweep } from "#sweep/dispatch.ts";
import { parseSweepPayload } from "#sweep/payload.ts";

/** A sweep as a platform calls it; rejects with `SweepRejected`, or where nobody can tell which clusters there are. */
export type SweepFunction = (event: unknown, context: FunctionContext) => Promise<SweepResult>;

/** What a deployed sweep touches, and of which deployment it is. */
export interface SweepFunctionWorld extends DispatchWorld {
  /** What the names of the deployment's functions begin with; undefined where the function's own name does not say. */
  readonly functionPrefix?: string | undefined;
}

/** The sweep as a function: a schedule's event in, or a shard of its own; numbers out, and what they are of in the log. */
export function sweepFunction(world: SweepFunctionWorld): SweepFunction {
  const { functionPrefix } = world;
  const log: DispatchWorld["log"] = (line) =>
    world.log(withMetric(line, world.clock.wallTime().getTime(), functionPrefix));
  return async (event, context) => {
    const deadline = deadlineOf(context);
    try {
      const payload = parseSweepPayload(event, world.clock.wallTime().getTime());
      return await sweep(payload, { ...world, log }, { signal: deadline.signal });
    } catch (error) {
      const { awsRequestId: requestId } = context;
      const code = error instanceof Error ? error.name : "Error";
      log({ level: "error", event: "InvocationFailed", requestId, code, message: messageOf(error) });
      throw error;
    }
  };
}
