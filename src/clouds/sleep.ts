import { setTimeout as delay } from "node:timers/promises";

/** Waits; resolves, never rejects, once the time is over or the signal aborts. */
export type Sleep = (delayMs: number, signal: AbortSignal) => Promise<void>;

/** Waits in real time. */
export const sleepFor: Sleep = async (delayMs, signal) => {
  await delay(delayMs, undefined, { signal }).catch(() => undefined);
};
