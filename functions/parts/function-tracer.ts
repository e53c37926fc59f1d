import type { Log } from "#functions/parts/log-report.ts";
import { openTracer } from "#tracing/open-tracer.ts";
import { createDroppedLine } from "#tracing/say-dropped.ts";
import type { Environment } from "#tracing/settings.ts";
import type { Tracer } from "#tracing/tracer.ts";

/** What a function records spans with. */
export interface FunctionTracer extends Pick<Tracer, "start"> {
  /** Called before the function answers: what is not sent by then is frozen with it. Never rejects. */
  flush(): Promise<void>;
}

/** An answer waits so long at most for its spans to be taken; those that are not are dropped. */
export const FLUSH_LIMIT_MS = 200;

/** The tracer of a deployed function, where its environment asks for one. */
export async function functionTracer(
  functionName: string,
  environment: Environment,
  log: Log = () => undefined,
): Promise<FunctionTracer | undefined> {
  const service = environment["AWS_LAMBDA_FUNCTION_NAME"] ?? `serverless-ccm-${functionName}`;
  const tracer = await openTracer(environment, service, log);
  if (tracer === undefined) return undefined;
  const sayDropped = createDroppedLine(tracer.counts, log);
  return {
    start: (start) => tracer.start(start),
    async flush() {
      await tracer.flush(FLUSH_LIMIT_MS);
      sayDropped();
    },
  };
}
