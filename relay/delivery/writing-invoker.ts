import type { Cluster } from "#config/cluster.ts";
import type { Watch } from "#core/controller.ts";
import { formatUser } from "#core/identities.ts";
import { findRelayWriter, type RelayWriter } from "#core/relay-writers.ts";
import type { Stop } from "#core/stop.ts";
import { WATCHES } from "#core/watches.ts";
import type { Invocation, Invoker } from "#delivery/invoker.ts";
import { impersonate } from "#kube/client/impersonate.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { traceWriting } from "#relay/delivery/trace-writing.ts";
import { writeInRounds } from "#relay/delivery/write-in-rounds.ts";
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
      const as = (options.writtenAs ?? findRelayWriter)(event.controller);
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
