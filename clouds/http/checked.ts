import type { ConfigurationCheck } from "#clouds/cloud.ts";
import type { Outcome } from "#clouds/http/outcome.ts";

/** What came of looking at a configuration: a fault that names its key is the configuration's, and any other says nothing of it. */
export function checked(outcome: Outcome<unknown>): ConfigurationCheck {
  if (outcome.kind === "ok") return { faults: [] };
  const { key, message } = outcome.fault;
  return key === undefined ? { faults: [], unchecked: message } : { faults: [{ key, message }] };
}
