import { type ConfigError, listFaults } from "#core/config-errors.ts";
import { Event } from "#core/event.ts";

/** An event, or all its errors; its objects are parsed later, one by one. */
export type ParsedEvent =
  | { readonly kind: "event"; readonly event: Event }
  | { readonly kind: "rejected"; readonly faults: readonly ConfigError[] };

/** Parses an event of this build's version; never throws. */
export function parseEvent(value: unknown): ParsedEvent {
  const parsed = Event.safeParse(value);
  if (parsed.success) return { kind: "event", event: parsed.data };
  return { kind: "rejected", faults: listFaults(parsed.error) };
}
