import { getErrorMessage } from "#core/error-message.ts";
import { createDeadline, type FunctionContext } from "#functions/parts/deadline.ts";
import { withMetric } from "#functions/parts/sweep-metric.ts";
import { type DispatchDependencies, type SweepResult, sweep } from "#sweep/dispatch.ts";
import { parseSweepPayload } from "#sweep/payload.ts";

/** The handler that the platform calls; rejects with `SweepRejected`, or if the clusters are unknown. */
export type SweepFunction = (event: unknown, context: FunctionContext) => Promise<SweepResult>;

/** The dependencies of a deployed sweep, and its deployment. */
export interface SweepFunctionDependencies extends DispatchDependencies {
  /** The prefix of the deployment's function names; undefined if the function's own name does not show it. */
  readonly functionPrefix?: string | undefined;
}

/**
 * Creates the sweep function: it takes a schedule's event or its own shard, returns counts and logs the
 * details.
 */
export function createSweepFunction(world: SweepFunctionDependencies): SweepFunction {
  const { functionPrefix } = world;
  const log: DispatchDependencies["log"] = (line) =>
    world.log(withMetric(line, world.clock.wallTime().getTime(), functionPrefix));
  return async (event, context) => {
    const deadline = createDeadline(context);
    try {
      const payload = parseSweepPayload(event, world.clock.wallTime().getTime());
      return await sweep(payload, { ...world, log }, { signal: deadline.signal });
    } catch (error) {
      const { awsRequestId: requestId } = context;
      const code = error instanceof Error ? error.name : "Error";
      log({ level: "error", event: "InvocationFailed", requestId, code, message: getErrorMessage(error) });
      throw error;
    }
  };
}
