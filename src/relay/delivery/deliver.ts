import type { Event, EventReason } from "#core/event.ts";
import type { ObjectReport, Report } from "#core/report.ts";
import { buildBatchEvent, type EventFacts } from "#delivery/batch-event.ts";
import { type Invocation, type Invoker, invokeUntil, isRefusal } from "#platforms/invoker.ts";
import type { InvocationEnd } from "#relay/delivery/invocation-limiter.ts";
import type { Queue, ReadyObject, Settlement } from "#relay/work/types.ts";

/** The result of one event, for the log and the metrics. */
export interface Delivery {
  readonly event: Event;
  readonly objects: readonly ReadyObject[];
  readonly invocation: Invocation;
  /** One for each object of the event, in its order. */
  readonly settlements: readonly Settlement[];
  /** The number of objects that the report does not name. */
  readonly unnamed: number;
}

/**
 * Sends one event and returns what happened to each of its objects. Stops waiting as soon as the signal
 * fires; never rejects.
 */
export async function deliver(
  invoker: Pick<Invoker, "invoke">,
  facts: EventFacts,
  objects: readonly ReadyObject[],
  signal: AbortSignal,
): Promise<Delivery> {
  const event = buildBatchEvent(facts, objects);
  const invocation = await invokeUntil(invoker, event, signal);
  const settlements = objects.map((object, index) => toSettlement(object, index, event, invocation));
  const unnamed =
    invocation.kind === "failed"
      ? 0
      : settlements.filter((settlement) => settlement.kind !== "report").length;
  return { event, objects, invocation, settlements, unnamed };
}

function toSettlement(object: ReadyObject, index: number, event: Event, invocation: Invocation): Settlement {
  if (isRefusal(invocation)) return { kind: "refused" };
  if (invocation.kind === "failed") return { kind: "failed", settleMs: invocation.settleMs };
  const report = findObjectReport(invocation.report, index, object.uid, event.id);
  return report === undefined ? { kind: "failed", settleMs: 0 } : { kind: "report", report };
}

function findObjectReport(report: Report, index: number, uid: string, id: string): ObjectReport | undefined {
  if (report.id !== id) return undefined;
  const entry = report.objects[index]?.index === index ? report.objects[index] : undefined;
  const named = entry ?? report.objects.find((each) => each.index === index);
  return named?.uid === uid ? named : undefined;
}

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
