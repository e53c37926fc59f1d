import type { Event } from "#core/event.ts";
import { parseTraceParent, traceParentOf } from "#core/trace-context.ts";
import type { Invocation } from "#delivery/invoker.ts";
import { observedTransport } from "#kube/client/observed-transport.ts";
import type { Transport } from "#kube/client/transport.ts";
import { apiServerSpan } from "#tracing/api-server-span.ts";
import { createRequestSpans } from "#tracing/request-spans.ts";
import { cut } from "#tracing/span.ts";
import type { Tracer } from "#tracing/tracer.ts";

/** How the writes of one event are traced. */
export interface TracedWriting {
  /** The same event, of whose trace its deliveries are. */
  readonly event: Event;
  /** The same way to the cluster, each request recorded. */
  readonly transport: Transport;
  /** Records all of it; called once. */
  end(invocation: Invocation | undefined): void;
}

/** One span around the deliveries of an event and what the relay writes of it; as they are where nothing is traced. */
export function traceWriting(
  tracer: Pick<Tracer, "start"> | undefined,
  event: Event,
  transport: Transport,
): TracedWriting {
  if (tracer === undefined) return { event, transport, end: () => {} };
  const span = tracer.start({
    name: "write",
    kind: "internal",
    parent: event.trace === undefined ? undefined : parseTraceParent(event.trace),
    attributes: {
      "k8s.cluster.name": cut(event.cluster),
      "serverless_ccm.controller": event.controller,
      "serverless_ccm.reason": event.reason,
      "serverless_ccm.objects": event.objects.length,
      "serverless_ccm.event_id": event.id,
    },
  });
  const requests = createRequestSpans(span);
  return {
    event: { ...event, trace: traceParentOf(span.context) },
    transport: span.context.sampled
      ? observedTransport(transport, (request) => requests.alike(apiServerSpan(request)))
      : transport,
    end(invocation) {
      requests.end();
      span.end({}, invocation?.kind === "report" ? undefined : (invocation?.code ?? "WriterFault"));
    },
  };
}
