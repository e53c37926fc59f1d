import type { ConfigurationCheck } from "#clouds/cloud.ts";
import type { Outcome } from "#clouds/http/outcome.ts";

/**
 * Converts the outcome of a configuration check: a fault that names a key belongs to the configuration, and
 * any other proves nothing about it.
 */
export function toConfigurationCheck(outcome: Outcome<unknown>): ConfigurationCheck {
  if (outcome.kind === "ok") return { faults: [] };
  const { key, message } = outcome.fault;
  return key === undefined ? { faults: [], unchecked: message } : { faults: [{ key, message }] };
}
