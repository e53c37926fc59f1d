import type { Event } from "#core/event.ts";
import { parseTraceParent, traceParentOf } from "#core/trace-context.ts";
import type { Invocation, Invoker } from "#delivery/invoker.ts";
import { cut } from "#tracing/span.ts";
import type { ActiveSpan, Tracer } from "#tracing/tracer.ts";

/** The same invoker, each of whose deliveries is a trace; the function that it goes to learns which from the event. */
export function tracedInvoker<Own extends Invoker>(invoker: Own, tracer: Pick<Tracer, "start">): Own {
  return {
    ...invoker,
    async invoke(event: Event, signal: AbortSignal): Promise<Invocation> {
      const parent = event.trace === undefined ? undefined : parseTraceParent(event.trace);
      const span = tracer.start({ name: "deliver", kind: "client", parent, attributes: attributesOf(event) });
      try {
        const traced = { ...event, trace: traceParentOf(span.context) };
        const invocation = await invoker.invoke(traced, signal);
        endWith(span, invocation);
        return invocation;
      } finally {
        span.end({}, "InvokerFault");
      }
    },
  };
}

/** What follows it can end it no more. */
function endWith(span: ActiveSpan, invocation: Invocation): void {
  if (invocation.kind === "report") span.end();
  else span.end({ "serverless_ccm.settle_ms": invocation.settleMs }, invocation.code);
}

function attributesOf({ cluster, controller, reason, objects, id, busy }: Event) {
  return {
    "k8s.cluster.name": cut(cluster),
    "serverless_ccm.controller": controller,
    "serverless_ccm.reason": reason,
    "serverless_ccm.objects": objects.length,
    "serverless_ccm.event_id": id,
    "serverless_ccm.busy": busy,
  };
}
