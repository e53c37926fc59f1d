import { log } from "#cli/serve.ts";
import type { Flags } from "#cli/settings.ts";

/** Says of flags that the stock controller has and that nothing here obeys yet that they do nothing. */
export function warnOfFlagsWithoutEffect(flags: Flags): void {
  if (flags.nodeMonitorPeriod === undefined) return;
  const message =
    "--node-monitor-period has no effect: the node lifecycle controller is not part of this version";
  log({ level: "warn", event: "FlagWithoutEffect", message });
}
