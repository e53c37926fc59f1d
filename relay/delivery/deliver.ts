import type { Event } from "#core/event.ts";
import { messageOf } from "#core/message-of.ts";
import type { ObjectReport, Report } from "#core/report.ts";
import { type EventFacts, eventOf } from "#delivery/event-of-batch.ts";
import { ABANDONED, type Invocation, type Invoker, isRefusal } from "#delivery/invoker.ts";
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

/** Nobody waits for what is left to itself when the signal fires. */
async function invokeUntil(
  invoker: Pick<Invoker, "invoke">,
  event: Event,
  signal: AbortSignal,
): Promise<Invocation> {
  let onAbort = (): void => {};
  const abandoned = new Promise<Invocation>((resolve) => {
    onAbort = () => resolve(failed(ABANDONED, "nobody waits for it any more"));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([invoker.invoke(event, signal), abandoned]);
  } catch (error) {
    // An invoker that breaks its word costs one batch one retry, not the relay its life.
    return failed("InvokerFault", messageOf(error));
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function failed(code: string, message: string): Invocation {
  return { kind: "failed", code, message, settleMs: 0 };
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
