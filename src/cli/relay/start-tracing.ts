import { traceInvoker } from "#delivery/traced-invoker.ts";
import type { FunctionTracer } from "#functions/parts/function-tracer.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { createDroppedLine, openTracer } from "#tracing/open-tracer.ts";
import type { Environment } from "#tracing/settings.ts";
import type { Tracer } from "#tracing/tracer.ts";

/** The tracing of a relay process. */
export interface ProcessTracing {
  /** Returns an invoker whose deliveries are traced. Its `close` sends the remaining spans and ends tracing. */
  invoker<Own extends Invoker>(invoker: Own): Own;
  /** For functions in this process: their spans go with the relay's. */
  readonly functions: FunctionTracer | undefined;
  /** Traces the writes of this process on behalf of functions. */
  readonly tracer: Pick<Tracer, "start"> | undefined;
}

/** How often ended spans are sent, in the background. */
const EVERY_MS = 1_000;

/** Starts tracing if the environment requests it; otherwise it changes and loads nothing. */
export async function startTracing(
  environment: Environment,
  log: (line: Readonly<Record<string, unknown>>) => void,
  service = "serverless-ccm-relay",
): Promise<ProcessTracing> {
  const tracer = await openTracer(environment, service, log);
  if (tracer === undefined) return { invoker: (invoker) => invoker, functions: undefined, tracer };
  const logDropped = createDroppedLine(tracer.counts, log);
  let sending = Promise.resolve();
  let isSending = false;
  const timer = setInterval(() => {
    if (isSending) return;
    isSending = true;
    sending = tracer.flush(Number.POSITIVE_INFINITY).then(() => {
      isSending = false;
      logDropped();
    });
  }, EVERY_MS);
  timer.unref();
  return {
    tracer,
    functions: { start: (start) => tracer.start(start), flush: () => Promise.resolve() },
    invoker: (invoker) => ({
      ...traceInvoker(invoker, tracer),
      async close() {
        await invoker.close();
        clearInterval(timer);
        await sending;
        await tracer.close();
      },
    }),
  };
}
