import type { Reporter, TestModule } from "vitest/node";

/** Ends the run with one plain line of the runner's own counts: `N passed, N failed[, N skipped]`. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0;
    let skipped = 0;
    // An error outside any test, or during the load of a file, is a failure without a test.
    let failed = unhandledErrors.length;
    let files = 0;
    let calls = 0;
    for (const module of modules) {
      // Calls to AWS that no model was there to check; a file with some counts as one skipped test.
      const { uncheckedAwsCalls } = module.meta();
      if (uncheckedAwsCalls !== undefined) {
        files += 1;
        calls += uncheckedAwsCalls;
      }
      failed += module.errors().length;
      // A failed hook leaves its suite's tests skipped.
      for (const suite of module.children.allSuites()) failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") passed += 1;
        else if (state === "failed") failed += 1;
        else skipped += 1;
      }
    }
    skipped += files;
    if (files > 0) {
      const what = `not checked by AWS's service models: ${calls} calls in ${files} ${files === 1 ? "file" : "files"}, see "test setup" above`;
      process.once("exit", () => process.stdout.write(`${what}\n`));
    }
    const line = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
    // Prints after the other reporters, which also write their summaries at the end.
    process.once("exit", () => process.stdout.write(`${line}\n`));
  }
}
