import type { Controller } from "#core/controller.ts";
import type { Because, Write } from "#core/decision.ts";
import type { Event } from "#core/event.ts";
import { becauseOfStop, isDeleting, isHeldSince, type Stop, tightest } from "#core/stop.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import type { Invocation } from "#functions/parts/invocation.ts";

/** What a sender read is good for so long; then a function looks by itself, whatever it writes. */
const GOOD_MS = 5_000;

/**
 * What is stopped for an event: what it says, and for a controller that takes things away what can be read now. The others have no
 * request to wait for before they begin.
 */
export async function stopOf(
  event: Event,
  controller: Controller,
  dependencies: Dependencies,
): Promise<Stop | undefined> {
  if (controller.deletes !== true) return event.stop;
  return tightest(event.stop, await dependencies.stopOf?.(event.cluster));
}

/** Why a write is held back that is to be sent now: looked at before whatever takes something away, and by an invocation that lasts. */
export async function heldNow(invocation: Invocation, write: Write): Promise<Because | undefined> {
  const { dependencies, event, now, stop } = invocation;
  const ageMs = dependencies.now().getTime() - now.getTime();
  // Where the clock was set back, how old the look is cannot be told.
  const isOld = ageMs < 0 || ageMs >= GOOD_MS;
  const isLookedAt = isOld || isDeleting(write);
  const current = tightest(stop, isLookedAt ? await dependencies.stopOf?.(event.cluster) : undefined);
  return current !== undefined && isHeldSince(stop, current, write) ? becauseOfStop(current) : undefined;
}

/** The same for a write that announces what a batch is going to do: nothing is announced that was decided under another stop. */
export async function heldTogether(invocation: Invocation, what: string): Promise<Because | undefined> {
  const { dependencies, event, stop } = invocation;
  const current = tightest(stop, await dependencies.stopOf?.(event.cluster));
  return current === undefined || current === stop ? undefined : becauseOfStop(current, what);
}
