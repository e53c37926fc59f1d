import type { MiddlewareObj } from "@middy/core";
import * as z from "zod";
import { type ControllerName, Event, MAX_EVENT_BYTES } from "#core/event.ts";
import { type Fault, faultsOf } from "#core/faults.ts";
import { sentenceOfFaults } from "#functions/parts/sentence-of-faults.ts";

/**
 * An event that no part of was worked on, because as a whole it is not one of ours. Thrown, so that the platform answers
 * it as a failed invocation; the message names each fault by its path and quotes nothing of the event.
 */
export class EventRejected extends Error {
  readonly code = "EventRejected";
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(`the event is rejected, nothing was done: ${sentenceOfFaults(faults, "event")}`);
    this.name = "EventRejected";
    this.faults = faults;
  }
}

/** The door: lets in an event for one of these controllers, of this version and of a bounded size, or throws `EventRejected`. */
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
      if (!parsed.success) throw new EventRejected(faultsOf(parsed.error));
      request.event = parsed.data;
    },
  };
}
