import type { Cluster } from "#config/cluster.ts";
import { WATCHES } from "#core/controllers.ts";
import type { Event } from "#core/event.ts";
import { formatUser } from "#core/identities.ts";
import { findRelayWriter, type RelayWriter } from "#core/relay-lease.ts";
import type { Stop } from "#core/stop.ts";
import { formatTraceParent, parseTraceParent } from "#core/trace-context.ts";
import type { Watch } from "#core/watch.ts";
import { observeTransport } from "#kube/client/observed-transport.ts";
import { impersonate, type Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { Invocation, Invoker } from "#platforms/invoker.ts";
import { writeInRounds } from "#relay/delivery/write-in-rounds.ts";
import { buildApiServerSpan, createRequestSpans } from "#tracing/request-spans.ts";
import { cut } from "#tracing/span.ts";
import type { Tracer } from "#tracing/tracer.ts";

/** The dependencies of writing on behalf of the functions. */
export interface WritingInvokerOptions {
  readonly cluster: Cluster;
  /**
   * The relay's transport to the cluster's API server, with the right to act as the functions. The creator
   * closes it.
   */
  readonly transport: Transport;
  /** Carries events to functions that decide and write nothing. */
  readonly invoker: Pick<Invoker, "invoke">;
  readonly clock: Clock;
  /**
   * Reads what operators have stopped for a cluster now; without it only the event's own stop counts. Never
   * rejects.
   */
  readonly readStop?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
  /** The controllers to serve; defaults to those of this build. */
  readonly watches?: readonly Watch[] | undefined;
  /** Returns the writer for a controller's decisions; defaults to that of this build. */
  readonly writtenAs?: (controller: string) => RelayWriter | undefined;
  /** Receives the spans of the writes; without it nothing is traced. */
  readonly tracer?: Pick<Tracer, "start"> | undefined;
}

/**
 * Nothing is written later than this after the first invocation: an intent to delete belongs to its writer
 * for 60 seconds.
 */
const WRITING_MS = 45_000;

/**
 * Creates an invoker for a cluster whose functions cannot reach it: the functions decide, and the relay
 * applies their deferred writes.
 *
 * An invocation fails, and nothing of it is applied, if a function defers writes for objects that it did not
 * receive or may not write.
 */
export function createWritingInvoker(options: WritingInvokerOptions): Pick<Invoker, "invoke"> {
  const { cluster, invoker, clock, watches = WATCHES } = options;
  return {
    async invoke(event, signal) {
      const watch = watches.find(({ name }) => name === event.controller);
      const writer = watch?.enablement?.companionOf ?? event.controller;
      const as = (options.writtenAs ?? findRelayWriter)(writer);
      if (watch === undefined || as === undefined) {
        // The validation of cluster entries rejects such a controller.
        const message = `with writes: relay, no identity writes for ${event.controller}`;
        return { kind: "failed", code: "NotSupported", message, settleMs: 0 };
      }
      const late = new AbortController();
      const cancel = clock.after(WRITING_MS, () => late.abort());
      const bounds = { maxBytes: cluster.limits.answerBytes };
      const acting = impersonate(options.transport, formatUser(as.identity), bounds);
      const traced = traceWriting(options.tracer, event, acting);
      let invocation: Invocation | undefined;
      try {
        invocation = await writeInRounds(traced.event, {
          ...{ cluster, watch, as, invoker, clock },
          readStop: options.readStop,
          transport: traced.transport,
          unwanted: signal,
          signal: AbortSignal.any([signal, late.signal]),
        });
        return invocation;
      } finally {
        cancel();
        traced.end(invocation);
      }
    },
  };
}

/** How the writes of one event are traced. */
interface TracedWriting {
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
function traceWriting(
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
