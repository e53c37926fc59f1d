import { relative } from "node:path";
import type { Reporter, Vitest } from "vitest/node";
import { describeLeftOut } from "#test/setup/modes.ts";

/** Ends the run with a line about the test files on the command line that its mode leaves out. */
export default class LeftOutReporter implements Reporter {
  #lines: readonly string[] = [];

  onInit({ config: { root }, vite }: Vitest): void {
    const named = process.argv.slice(2).filter((word) => word.endsWith(".test.ts"));
    this.#lines = describeLeftOut(
      vite.config.mode,
      named.map((file) => relative(root, file)),
    );
  }

  onTestRunEnd(): void {
    // Prints after the summary of the default reporter, which is longer than a screen if no file is left.
    process.once("exit", () => {
      for (const line of this.#lines) process.stdout.write(`${line}\n`);
    });
  }
}
