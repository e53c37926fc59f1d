import * as z from "zod";
import type { Decision } from "#core/decision.ts";
import { Event } from "#core/event.ts";
import { type Fault, faultsOf } from "#core/faults.ts";
import { InstanceAnswer } from "#core/instance.ts";
import { decideNode } from "#core/node/decide.ts";
import { parseNode } from "#core/node/snapshot.ts";

/** An event with what the cloud says of its objects, in their order; what is not said was not asked. */
export const DecideInput = z.strictObject({ event: Event, instances: z.array(InstanceAnswer) });
export type DecideInput = z.output<typeof DecideInput>;

/** An object that is none of those the controller knows. */
export interface MalformedObject {
  readonly kind: "malformed";
  readonly index: number;
  readonly faults: readonly Fault[];
}

/** One entry for each object of the event, or what is wrong with the document as a whole. */
export type DecidedEvent =
  | { readonly kind: "decided"; readonly decisions: readonly (Decision | MalformedObject)[] }
  | { readonly kind: "rejected"; readonly faults: readonly Fault[] };

/** The core as a filter: a document of an event, or of an event and instances, to decisions. */
export function decideEvent(document: unknown, now: Date): DecidedEvent {
  const whole = isDecideInput(document) ? document : { event: document, instances: [] };
  const parsed = DecideInput.safeParse(whole);
  if (!parsed.success) return { kind: "rejected", faults: faultsOf(parsed.error) };
  const { event, instances } = parsed.data;
  const decisions = event.objects.map((object, index) => {
    const node = parseNode(object);
    if (node.kind === "malformed") return { kind: "malformed" as const, index, faults: node.faults };
    return decideNode(node.node, instances[index], { reason: event.reason, now });
  });
  return { kind: "decided", decisions };
}

function isDecideInput(document: unknown): boolean {
  return document !== null && typeof document === "object" && "event" in document;
}
