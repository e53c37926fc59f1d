import type { MiddlewareObj } from "@middy/core";
import * as z from "zod";
import { type ConfigError, listFaults } from "#core/config-errors.ts";
import { type ControllerName, Event, MAX_EVENT_BYTES } from "#core/event.ts";
import { formatFaults } from "#functions/parts/format-faults.ts";

/**
 * The whole event is invalid, so no part of it was processed. It is thrown, so that the platform returns a
 * failed invocation. The message names each fault by path and quotes nothing of the event.
 */
export class EventRejected extends Error {
  readonly code = "EventRejected";
  readonly faults: readonly ConfigError[];

  constructor(faults: readonly ConfigError[]) {
    super(`the event is rejected, nothing was done: ${formatFaults(faults, "event")}`);
    this.name = "EventRejected";
    this.faults = faults;
  }
}

/**
 * Middleware that validates events: it accepts this version, these controllers and a bounded size, and throws
 * `EventRejected` otherwise.
 */
export function parseEvent(controllers: readonly ControllerName[]): MiddlewareObj {
  const EventOfController = Event.extend({ controller: z.literal([...controllers]) });
  return {
    before(request) {
      const bytes = Buffer.byteLength(JSON.stringify(request.event) ?? "");
      if (bytes > MAX_EVENT_BYTES) {
        throw new EventRejected([
          { path: "", message: `${bytes} bytes; at most ${MAX_EVENT_BYTES} are accepted` },
        ]);
      }
      const parsed = EventOfController.safeParse(request.event);
      if (!parsed.success) throw new EventRejected(listFaults(parsed.error));
      request.event = parsed.data;
    },
  };
}
