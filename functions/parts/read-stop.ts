import { openSwitch } from "#config/switch/open-switch.ts";
import { createStopReader } from "#config/switch/stop-reader.ts";
import type { Controller } from "#core/controller.ts";
import type { Write } from "#core/decision.ts";
import type { Event } from "#core/event.ts";
import type { Reason } from "#core/reason.ts";
import { describeStop, isDeleting, isHeldSince, type Stop, selectTightestStop } from "#core/stop.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import type { Invocation } from "#functions/parts/invocation.ts";
import { logToStandardOutput } from "#functions/parts/log-report.ts";

/**
 * How long the sender's read of the stop is valid; after that the function reads the switch itself, whatever
 * it writes.
 */
const GOOD_MS = 5_000;

/**
 * Returns the stop for an event: the event's own, and for a deleting controller also a fresh read. Other
 * controllers start without waiting for a request.
 */
export async function readStop(
  event: Event,
  controller: Controller,
  dependencies: Dependencies,
): Promise<Stop | undefined> {
  if (controller.deletes !== true) return event.stop;
  return selectTightestStop(event.stop, await dependencies.readStop?.(event.cluster));
}

/**
 * Returns why a write is held back now. It is checked before every deletion, and in a long invocation before
 * every write.
 */
export async function checkWriteHold(invocation: Invocation, write: Write): Promise<Reason | undefined> {
  const { dependencies, event, now, stop } = invocation;
  const ageMs = dependencies.now().getTime() - now.getTime();
  // If the clock was set back, the age of the read is unknown.
  const isOld = ageMs < 0 || ageMs >= GOOD_MS;
  const isLookedAt = isOld || isDeleting(write);
  const current = selectTightestStop(
    stop,
    isLookedAt ? await dependencies.readStop?.(event.cluster) : undefined,
  );
  return current !== undefined && isHeldSince(stop, current, write) ? describeStop(current) : undefined;
}

/**
 * Returns why the announcement of a batch is held back: a batch decided under another stop announces nothing.
 */
export async function checkSharedHold(invocation: Invocation, what: string): Promise<Reason | undefined> {
  const { dependencies, event, stop } = invocation;
  const current = selectTightestStop(stop, await dependencies.readStop?.(event.cluster));
  return current === undefined || current === stop ? undefined : describeStop(current, what);
}

/**
 * Opens the stop reader of a deployed function for the switch that STOP_SWITCH names; the function may only
 * read it. `readsAll` is for callers that ask for many clusters.
 */
export function openStopReader(
  environment: Readonly<Record<string, string | undefined>>,
  { readsAll = false }: { readonly readsAll?: boolean } = {},
): ((cluster: string) => Promise<Stop | undefined>) | undefined {
  const { STOP_SWITCH: reference } = environment;
  if (!reference) return undefined;
  return createStopReader({
    stopSwitch: openSwitch(reference),
    now: Date.now,
    log: logToStandardOutput,
    readsAll,
  });
}
