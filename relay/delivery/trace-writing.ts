import type { Event } from "#core/event.ts";
import { formatTraceParent, parseTraceParent } from "#core/trace-context.ts";
import type { Invocation } from "#delivery/invoker.ts";
import { observeTransport } from "#kube/client/observed-transport.ts";
import type { Transport } from "#kube/client/transport.ts";
import { buildApiServerSpan } from "#tracing/api-server-span.ts";
import { createRequestSpans } from "#tracing/request-spans.ts";
import { cut } from "#tracing/span.ts";
import type { Tracer } from "#tracing/tracer.ts";

/** How the writes of one event are traced. */
export interface TracedWriting {
  /** The event, whose deliveries belong to its trace. */
  readonly event: Event;
  /** The transport to the cluster, which records each request. */
  readonly transport: Transport;
  /** Records the span; called once. */
  end(invocation: Invocation | undefined): void;
}

/**
 * Records one span around the deliveries of an event and the relay's writes for it. Without a tracer it
 * changes nothing.
 */
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
    event: { ...event, trace: formatTraceParent(span.context) },
    transport: span.context.sampled
      ? observeTransport(transport, (request) => requests.alike(buildApiServerSpan(request)))
      : transport,
    end(invocation) {
      requests.end();
      span.end({}, invocation?.kind === "report" ? undefined : (invocation?.code ?? "WriterFault"));
    },
  };
}
