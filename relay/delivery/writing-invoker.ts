import type { Cluster } from "#config/cluster.ts";
import type { Watch } from "#core/controller.ts";
import { userOf } from "#core/identities.ts";
import type { Stop } from "#core/stop.ts";
import { WATCHES } from "#core/watches.ts";
import { type WrittenAs, writtenAs } from "#core/written-by-relay.ts";
import type { Invocation, Invoker } from "#delivery/invoker.ts";
import { actingAs } from "#kube/client/acting-as.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { traceWriting } from "#relay/delivery/trace-writing.ts";
import { writeInRounds } from "#relay/delivery/write-in-rounds.ts";
import type { Tracer } from "#tracing/tracer.ts";

/** What writing in the functions' stead takes. */
export interface WritingInvokerOptions {
  readonly cluster: Cluster;
  /** The relay's way to the cluster's API server, with the right to act as the functions; whoever gives it closes it. */
  readonly transport: Transport;
  /** What carries events to functions, which decide and write nothing. */
  readonly invoker: Pick<Invoker, "invoke">;
  readonly clock: Clock;
  /** What operators have stopped for a cluster, as it can be read now; without it an event's own word counts alone. Never rejects. */
  readonly stopOf?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
  /** The controllers that there are; those of this build without it. */
  readonly watches?: readonly Watch[] | undefined;
  /** As whom what a controller decides is written; as in this build without it. */
  readonly writtenAs?: (controller: string) => WrittenAs | undefined;
  /** What spans of the writes go to; nothing is traced without it. */
  readonly tracer?: Pick<Tracer, "start"> | undefined;
}

/** Nothing is written any more so long after the first invocation: an intent to delete is its writer's for 60 seconds. */
const WRITING_MS = 45_000;

/**
 * An invoker for a cluster whose functions cannot reach it: they decide, and this carries out what they hand back, in their stead.
 * What a function hands back beyond what it was sent and may write fails the invocation, and nothing of it is done.
 */
export function writingInvoker(options: WritingInvokerOptions): Pick<Invoker, "invoke"> {
  const { cluster, invoker, clock, watches = WATCHES } = options;
  return {
    async invoke(event, signal) {
      const watch = watches.find(({ name }) => name === event.controller);
      const as = (options.writtenAs ?? writtenAs)(event.controller);
      if (watch === undefined || as === undefined) {
        // The door of configurations lets none through.
        const message = `with writes: relay nobody writes for ${event.controller}`;
        return { kind: "failed", code: "NotSupported", message, settleMs: 0 };
      }
      const late = new AbortController();
      const cancel = clock.after(WRITING_MS, () => late.abort());
      const bounds = { maxBytes: cluster.limits.answerBytes };
      const acting = actingAs(options.transport, userOf(as.identity), bounds);
      const traced = traceWriting(options.tracer, event, acting);
      let invocation: Invocation | undefined;
      try {
        invocation = await writeInRounds(traced.event, {
          ...{ cluster, watch, as, invoker, clock },
          stopOf: options.stopOf,
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
