import type { Cluster } from "#config/cluster.ts";
import { type Controller, EVENT_VERSION, type Event, type EventReason } from "#core/event.ts";
import type { ObjectReport, Report } from "#core/report.ts";
import type { Invocation, Invoker } from "#relay/delivery/invoker.ts";
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

/** What an event is made of, beside its objects. */
export interface EventFacts {
  readonly id: string;
  readonly cluster: Cluster;
  readonly clusterHash: string;
  readonly controller: Controller;
  readonly reason: EventReason;
  readonly share: number;
  /** Whether the cluster has as much in flight as it may, or more than this batch to send. */
  readonly busy: boolean;
}

/** Sends one event and says what became of each of its objects. Never rejects. */
export async function deliver(
  invoker: Invoker,
  facts: EventFacts,
  objects: readonly ReadyObject[],
  signal: AbortSignal,
): Promise<Delivery> {
  const event = eventOf(facts, objects);
  const invocation = await invoke(invoker, event, signal);
  const settlements = objects.map((object, index) => settlementOf(object, index, event, invocation));
  const unnamed =
    invocation.kind === "failed"
      ? 0
      : settlements.filter((settlement) => settlement.kind !== "report").length;
  return { event, objects, invocation, settlements, unnamed };
}

function eventOf(facts: EventFacts, objects: readonly ReadyObject[]): Event {
  const taintRestoredBy: Record<string, string> = {};
  for (const { uid, restoredBy } of objects) if (restoredBy !== undefined) taintRestoredBy[uid] = restoredBy;
  return {
    version: EVENT_VERSION,
    id: facts.id,
    cluster: facts.cluster.name,
    clusterHash: facts.clusterHash,
    controller: facts.controller,
    reason: facts.reason,
    objects: objects.map((object) => object.snapshot),
    budget: { share: facts.share },
    ...(Object.keys(taintRestoredBy).length === 0 ? {} : { taintRestoredBy }),
    ...(facts.busy ? { busy: true as const } : {}),
    ...(facts.cluster.policies.dryRun ? { dryRun: true as const } : {}),
  };
}

async function invoke(invoker: Invoker, event: Event, signal: AbortSignal): Promise<Invocation> {
  try {
    return await invoker.invoke(event, signal);
  } catch (error) {
    // An invoker that breaks its word costs one batch one retry, not the relay its life.
    const message = error instanceof Error ? error.message : String(error);
    return { kind: "failed", code: "InvokerFault", message, settleMs: 0 };
  }
}

function settlementOf(object: ReadyObject, index: number, event: Event, invocation: Invocation): Settlement {
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
