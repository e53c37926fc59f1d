import type { Log } from "#functions/parts/log-report.ts";
import { createDroppedLine, openTracer } from "#tracing/open-tracer.ts";
import type { Environment } from "#tracing/settings.ts";
import type { Tracer } from "#tracing/tracer.ts";

/** Records the spans of a function. */
export interface FunctionTracer extends Pick<Tracer, "start"> {
  /**
   * Sends the spans; called before the function answers, because later ones are frozen with it. Never
   * rejects.
   */
  flush(): Promise<void>;
}

/** Longest wait for spans before an answer; spans not accepted by then are dropped. */
export const FLUSH_LIMIT_MS = 200;

/** Opens the tracer of a deployed function if its environment configures one. */
export async function openFunctionTracer(
  functionName: string,
  environment: Environment,
  log: Log = () => undefined,
): Promise<FunctionTracer | undefined> {
  const service = environment["AWS_LAMBDA_FUNCTION_NAME"] ?? `serverless-ccm-${functionName}`;
  const tracer = await openTracer(environment, service, log);
  if (tracer === undefined) return undefined;
  const logDropped = createDroppedLine(tracer.counts, log);
  return {
    start: (start) => tracer.start(start),
    async flush() {
      await tracer.flush(FLUSH_LIMIT_MS);
      logDropped();
    },
  };
}
