import type { EventReason } from "#core/event.ts";
import { type Invocation, isRefusal } from "#platforms/invoker.ts";
import type { Delivery } from "#relay/delivery/deliver.ts";
import type { InvocationEnd } from "#relay/delivery/invocation-limiter.ts";
import type { Queue, ReadyObject } from "#relay/work/types.ts";

/**
 * Yields objects with the same reason, because an event has one: a complete resync and one for related
 * objects go in separate events.
 */
export function* takeSameReason(ready: Iterable<ReadyObject>): Iterable<ReadyObject> {
  let first: ReadyObject | undefined;
  for (const object of ready) {
    first ??= object;
    if (object.resyncReason === first.resyncReason) yield object;
  }
}

/** Returns the reason of the event that carries these objects of a queue. */
export function getEventReason(queue: Queue, objects: readonly ReadyObject[]): EventReason {
  if (queue === "look") return objects[0]?.resyncReason ?? "refresh";
  return objects.every(({ again }) => again) ? "retry" : "watch";
}

/** Returns what the invocation limiter needs to know of an invocation that ended. */
export function toInvocationEnd(invocation: Invocation, durationMs: number): InvocationEnd {
  if (invocation.kind === "report") {
    const { calls, throttled, waitedMs } = invocation.report.usage.cloud;
    return {
      code: undefined,
      refused: false,
      settleMs: 0,
      durationMs,
      usage: { calls: sumValues(calls), throttled, waitedMs },
    };
  }
  const { code, settleMs } = invocation;
  return { code, refused: isRefusal(invocation), settleMs, durationMs, usage: undefined };
}

function sumValues(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Returns the objects that were sent and that the report calls changed. */
export function selectChanged({ objects, settlements }: Delivery): readonly ReadyObject[] {
  return objects.filter((_, index) => {
    const settlement = settlements[index];
    return settlement?.kind === "report" && settlement.report.outcome === "changed";
  });
}
