import { Event } from "#core/event.ts";
import { type Fault, faultsOf } from "#core/faults.ts";

/** An event, or all that is wrong with it; its objects are parsed later, one by one. */
export type ParsedEvent =
  | { readonly kind: "event"; readonly event: Event }
  | { readonly kind: "rejected"; readonly faults: readonly Fault[] };

/** Parses an event of this build's version; never throws. */
export function parseEvent(value: unknown): ParsedEvent {
  const parsed = Event.safeParse(value);
  if (parsed.success) return { kind: "event", event: parsed.data };
  return { kind: "rejected", faults: faultsOf(parsed.error) };
}
