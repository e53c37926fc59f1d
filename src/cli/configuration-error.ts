import { formatCounted } from "#cli/format-list.ts";

/** A configuration fault: the flag, file or key, and what is allowed there. */
export interface ConfigurationFault {
  readonly name: string;
  readonly message: string;
}

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
