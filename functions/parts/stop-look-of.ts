import { createStopLook } from "#config/switch/look.ts";
import { openSwitch } from "#config/switch/open-switch.ts";
import type { Stop } from "#core/stop.ts";
import { logToStandardOutput } from "#functions/parts/log-report.ts";

/**
 * How a deployed function looks at what is stopped: at the switch that STOP_SWITCH names, which it has the right to read. `readsAll` is for
 * one that asks for many clusters at a time.
 */
export function stopLookOf(
  environment: Readonly<Record<string, string | undefined>>,
  { readsAll = false }: { readonly readsAll?: boolean } = {},
): ((cluster: string) => Promise<Stop | undefined>) | undefined {
  const { STOP_SWITCH: reference } = environment;
  if (!reference) return undefined;
  return createStopLook({
    stopSwitch: openSwitch(reference),
    now: Date.now,
    log: logToStandardOutput,
    readsAll,
  });
}
