import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The only supported fallback while the function platform fails. */
const IN_PROCESS = "in-process";

/** Reads `--fallback`: whether the relay handles events itself while the platform fails. */
export function readFallback(flag: string | undefined, faults: ConfigurationFault[]): boolean {
  if (flag === undefined || flag === IN_PROCESS) return flag !== undefined;
  const message = `"${sanitizeText(flag)}" is no place to handle events; give ${IN_PROCESS}, or leave it out`;
  faults.push({ name: "--fallback", message });
  return false;
}
