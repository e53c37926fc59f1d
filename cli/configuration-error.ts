import { counted } from "#cli/counted.ts";

/** One thing wrong with the configuration: the flag, file or key it is about, and what is allowed there. */
export interface ConfigurationFault {
  readonly name: string;
  readonly message: string;
}

/** All that is wrong with a command's flags and files, or with the event that it was given, at once; the process answers it with exit code 2. */
export class ConfigurationError extends Error {
  readonly code = "CONFIGURATION";
  readonly faults: readonly ConfigurationFault[];

  constructor(faults: readonly ConfigurationFault[], what: "configuration" | "event" = "configuration") {
    const lines = faults.map((fault) => `  ${fault.name}: ${fault.message}`);
    super(`${counted(faults.length, "fault")} in the ${what}:\n${lines.join("\n")}`);
    this.name = "ConfigurationError";
    this.faults = faults;
  }
}
