import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { shown } from "#core/shown-text.ts";

/** Where events are handled while the functions' platform fails; there is one such place. */
const IN_PROCESS = "in-process";

/** Reads `--fallback`: whether the relay handles events by itself while the platform fails. */
export function readFallback(flag: string | undefined, faults: ConfigurationFault[]): boolean {
  if (flag === undefined || flag === IN_PROCESS) return flag !== undefined;
  const message = `"${shown(flag)}" is no place to handle events; give ${IN_PROCESS}, or leave it out`;
  faults.push({ name: "--fallback", message });
  return false;
}
