import type { Event } from "#core/event.ts";
import { formatTraceParent, parseTraceParent } from "#core/trace-context.ts";
import type { Invocation, Invoker } from "#platforms/invoker.ts";
import { cut } from "#tracing/span.ts";
import type { ActiveSpan, Tracer } from "#tracing/tracer.ts";

/** Wraps an invoker so that each delivery is a trace; the event carries the trace to the function. */
export function traceInvoker<Own extends Invoker>(invoker: Own, tracer: Pick<Tracer, "start">): Own {
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
