import * as z from "zod";
import type { Decision } from "#core/decision.ts";
import { Event } from "#core/event.ts";
import { parseEvent } from "#core/event-door.ts";
import { type Fault, faultsOf } from "#core/faults.ts";
import { InstanceAnswer } from "#core/instance.ts";
import { decideNode } from "#core/node/decide.ts";
import { type ParsedNode, parseNode } from "#core/node/snapshot.ts";
import { applyPolicies } from "#core/policies.ts";

/** An event with the cloud's answers beside it, in the order of its objects. */
export const EventWithInstances = z
  .strictObject({ event: Event, instances: z.array(InstanceAnswer) })
  .refine(({ event, instances }) => instances.length === event.objects.length, {
    message: "one answer for each of the event's objects, in their order",
    path: ["instances"],
  });
export type EventWithInstances = z.output<typeof EventWithInstances>;

/** An object of an event that is not a node; `index` is its place there. */
export type MalformedObject = Extract<ParsedNode, { readonly kind: "malformed" }> & {
  readonly index: number;
};

/** What is to be done about each object of an event, in its order; or all that is wrong with the document. */
export type DecidedEvent =
  | { readonly kind: "decided"; readonly decisions: readonly (Decision | MalformedObject)[] }
  | { readonly kind: "rejected"; readonly faults: readonly Fault[] };

/** The core as a filter: an event, or an event with the cloud's answers, to decisions. Never throws. */
export function decideEvent(value: unknown, now: Date): DecidedEvent {
  const document = parseDocument(value);
  if (document.kind === "rejected") return document;
  const { event, instances } = document;
  const policies = { dryRun: event.dryRun === true, labelsOnly: false };
  const decisions = event.objects.map((object, index) => {
    const parsed = parseNode(object);
    if (parsed.kind === "malformed") return { ...parsed, index };
    return applyPolicies(
      decideNode(parsed.node, instances[index], {
        reason: event.reason,
        now,
        taintRestoredBy: event.taintRestoredBy?.[parsed.node.metadata.uid],
      }),
      policies,
    );
  });
  return { kind: "decided", decisions };
}

type Document =
  | { readonly kind: "document"; readonly event: Event; readonly instances: readonly InstanceAnswer[] }
  | { readonly kind: "rejected"; readonly faults: readonly Fault[] };

function parseDocument(value: unknown): Document {
  if (typeof value === "object" && value !== null && "event" in value) {
    const parsed = EventWithInstances.safeParse(value);
    if (parsed.success) return { kind: "document", ...parsed.data };
    return { kind: "rejected", faults: faultsOf(parsed.error) };
  }
  const parsed = parseEvent(value);
  return parsed.kind === "event" ? { kind: "document", event: parsed.event, instances: [] } : parsed;
}
