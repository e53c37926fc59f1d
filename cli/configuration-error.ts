/** One thing wrong with the configuration: the flag, file or key it is about, and what is allowed there. */
export interface ConfigurationFault {
  readonly name: string;
  readonly message: string;
}

/** All that is wrong with a command's flags and files, at once; the process answers it with exit code 2. */
export class ConfigurationError extends Error {
  readonly code = "CONFIGURATION";
  readonly faults: readonly ConfigurationFault[];

  constructor(faults: readonly ConfigurationFault[]) {
    const lines = faults.map((fault) => `  ${fault.name}: ${fault.message}`);
    super(
      `${faults.length} fault${faults.length === 1 ? "" : "s"} in the configuration:\n${lines.join("\n")}`,
    );
    this.name = "ConfigurationError";
    this.faults = faults;
  }
}
