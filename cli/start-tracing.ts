import type { Invoker } from "#delivery/invoker.ts";
import { tracedInvoker } from "#delivery/traced-invoker.ts";
import type { FunctionTracer } from "#functions/parts/function-tracer.ts";
import { openTracer } from "#tracing/open-tracer.ts";
import { createDroppedLine } from "#tracing/say-dropped.ts";
import type { Environment } from "#tracing/settings.ts";
import type { Tracer } from "#tracing/tracer.ts";

/** What a relay process traces with. */
export interface ProcessTracing {
  /** The same invoker, whose deliveries are traced; closing it sends what is left, and ends tracing. */
  invoker<Own extends Invoker>(invoker: Own): Own;
  /** For functions in this process: their spans go with those of the relay. */
  readonly functions: FunctionTracer | undefined;
  /** For what the process writes in the functions' stead. */
  readonly tracer: Pick<Tracer, "start"> | undefined;
}

/** What has ended is sent so often, and nobody waits for it. */
const EVERY_MS = 1_000;

/** Starts to trace where the environment asks for it; without that all stays as it is, and nothing is loaded. */
export async function startTracing(
  environment: Environment,
  log: (line: Readonly<Record<string, unknown>>) => void,
  service = "serverless-ccm-relay",
): Promise<ProcessTracing> {
  const tracer = await openTracer(environment, service, log);
  if (tracer === undefined) return { invoker: (invoker) => invoker, functions: undefined, tracer };
  const sayDropped = createDroppedLine(tracer.counts, log);
  let sending = Promise.resolve();
  let isSending = false;
  const timer = setInterval(() => {
    if (isSending) return;
    isSending = true;
    sending = tracer.flush(Number.POSITIVE_INFINITY).then(() => {
      isSending = false;
      sayDropped();
    });
  }, EVERY_MS);
  timer.unref();
  return {
    tracer,
    functions: { start: (start) => tracer.start(start), flush: () => Promise.resolve() },
    invoker: (invoker) => ({
      ...tracedInvoker(invoker, tracer),
      async close() {
        await invoker.close();
        clearInterval(timer);
        await sending;
        await tracer.close();
      },
    }),
  };
}
