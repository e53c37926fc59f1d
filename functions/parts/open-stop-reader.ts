import { openSwitch } from "#config/switch/open-switch.ts";
import { createStopReader } from "#config/switch/stop-reader.ts";
import type { Stop } from "#core/stop.ts";
import { logToStandardOutput } from "#functions/parts/log-report.ts";

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
