import type { Event } from "#core/event.ts";
import { formatTraceParent, parseTraceParent } from "#core/trace-context.ts";
import type { FunctionTracer } from "#functions/parts/function-tracer.ts";
import type { Invocation, Invoker } from "#platforms/invoker.ts";
import { createDroppedLine, openTracer } from "#tracing/open-tracer.ts";
import type { Environment } from "#tracing/settings.ts";
import { cut } from "#tracing/span.ts";
import type { ActiveSpan, Tracer } from "#tracing/tracer.ts";

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

/** Wraps an invoker so that each delivery is a trace; the event carries the trace to the function. */
function traceInvoker<Own extends Invoker>(invoker: Own, tracer: Pick<Tracer, "start">): Own {
  return {
    ...invoker,
    async invoke(event: Event, signal: AbortSignal): Promise<Invocation> {
      const parent = event.trace === undefined ? undefined : parseTraceParent(event.trace);
      const span = tracer.start({
        name: "deliver",
        kind: "client",
        parent,
        attributes: buildEventAttributes(event),
      });
      try {
        const traced = { ...event, trace: formatTraceParent(span.context) };
        const invocation = await invoker.invoke(traced, signal);
        endSpan(span, invocation);
        return invocation;
      } finally {
        span.end({}, "InvokerFault");
      }
    },
  };
}

/** A later end of the span has no effect. */
function endSpan(span: ActiveSpan, invocation: Invocation): void {
  if (invocation.kind === "report") span.end();
  else span.end({ "serverless_ccm.settle_ms": invocation.settleMs }, invocation.code);
}

function buildEventAttributes({ cluster, controller, reason, objects, id, busy }: Event) {
  return {
    "k8s.cluster.name": cut(cluster),
    "serverless_ccm.controller": controller,
    "serverless_ccm.reason": reason,
    "serverless_ccm.objects": objects.length,
    "serverless_ccm.event_id": id,
    "serverless_ccm.busy": busy,
  };
}
