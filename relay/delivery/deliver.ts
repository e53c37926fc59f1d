import type { Event } from "#core/event.ts";
import type { ObjectReport, Report } from "#core/report.ts";
import { type EventFacts, eventOf } from "#delivery/event-of-batch.ts";
import { invokeUntil } from "#delivery/invoke-until.ts";
import { type Invocation, type Invoker, isRefusal } from "#delivery/invoker.ts";
import type { ReadyObject, Settlement } from "#relay/work/pending.ts";

/** What one event came to, for the log and the metrics. */
export interface Delivery {
  readonly event: Event;
  readonly objects: readonly ReadyObject[];
  readonly invocation: Invocation;
  /** Per object of the event, in its order. */
  readonly settlements: readonly Settlement[];
  /** Objects that the report does not name. */
  readonly unnamed: number;
}

/** Sends one event and says what became of each of its objects; given up as soon as the signal fires. Never rejects. */
export async function deliver(
  invoker: Pick<Invoker, "invoke">,
  facts: EventFacts,
  objects: readonly ReadyObject[],
  signal: AbortSignal,
): Promise<Delivery> {
  const event = eventOf(facts, objects);
  const invocation = await invokeUntil(invoker, event, signal);
  const settlements = objects.map((object, index) => settlementOf(object, index, event, invocation));
  const unnamed =
    invocation.kind === "failed"
      ? 0
      : settlements.filter((settlement) => settlement.kind !== "report").length;
  return { event, objects, invocation, settlements, unnamed };
}

function settlementOf(object: ReadyObject, index: number, event: Event, invocation: Invocation): Settlement {
  if (isRefusal(invocation)) return { kind: "refused" };
  if (invocation.kind === "failed") return { kind: "failed", settleMs: invocation.settleMs };
  const report = entryFor(invocation.report, index, object.uid, event.id);
  return report === undefined ? { kind: "failed", settleMs: 0 } : { kind: "report", report };
}

function entryFor(report: Report, index: number, uid: string, id: string): ObjectReport | undefined {
  if (report.id !== id) return undefined;
  const entry = report.objects[index]?.index === index ? report.objects[index] : undefined;
  const named = entry ?? report.objects.find((each) => each.index === index);
  return named?.uid === uid ? named : undefined;
}
