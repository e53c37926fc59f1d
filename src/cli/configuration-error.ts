import { formatCounted } from "#cli/format-list.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";

/** All faults of a command's flags, files or event at once; the process ends with exit code 2. */
export class ConfigurationError extends Error {
  readonly code = "CONFIGURATION";
  readonly faults: readonly ConfigurationFault[];

  constructor(faults: readonly ConfigurationFault[], what: "configuration" | "event" = "configuration") {
    const lines = faults.map((fault) => `  ${fault.name}: ${fault.message}`);
    super(`${formatCounted(faults.length, "fault")} in the ${what}:\n${lines.join("\n")}`);
    this.name = "ConfigurationError";
    this.faults = faults;
  }
}
