import { defineConfig } from "vitest/config";
import { listExcluded } from "./test/setup/modes.ts";

/** Tests that count requests or have a thousand nodes: simultaneous tests would change the counts. */
const COUNTED = ["counts", "thousand-nodes", "bench", "retries", "nodes"].map(
  (name) => `test/e2e/${name}.test.ts`,
);

/** Fails tests in which an exchange with an embedded API server violates the OpenAPI documents of a real one. */
const JUDGE = "./test/setup/judge-api-exchanges.ts";
/** Fails tests whose calls to AWS are not as AWS's service models allow. */
const CHECK_AWS_CALLS = "./test/setup/check-aws-calls.ts";

// The time limits only end a test that hangs: a loaded machine is several times slower than an idle one.
// Projects by what they need: `core` is pure, `shell` touches files, sockets and processes, `e2e` runs whole
// control planes and goes two files at a time, and `counted` one. The files of `core` and of `shell` share
// their workers: a process of its own for each file costs a fifth of the run.
export default defineConfig(({ mode }) => ({
  test: {
    // Many tests wait for servers: on a machine of two cores two workers would leave it idle for a third of the time.
    maxWorkers: 3,
    reporters: ["default", "./test/setup/left-out-reporter.ts", "./test/setup/summary-reporter.ts"],
    expect: { poll: { timeout: 60_000 } },
    // A title is a sentence: `$given` and `$title` must not end after 40 characters.
    taskTitleValueFormatTruncate: 200,
    globalSetup: ["./test/setup/global.ts"],
    coverage: {
      provider: "v8",
      include: ["functions/**", "src/**"],
      exclude: ["**/*.md", "**/*.json"],
      reporter: ["text-summary", "json-summary"],
      thresholds: { "src/core/**": { lines: 100, branches: 100, functions: 100, statements: 100 } },
    },
    projects: [
      {
        extends: true,
        test: {
          name: "core",
          include: ["test/core/**/*.test.ts"],
          exclude: [...listExcluded(mode)],
          pool: "threads",
          isolate: false,
          testTimeout: 240_000,
        },
      },
      {
        extends: true,
        test: {
          name: "shell",
          isolate: false,
          setupFiles: ["./test/setup/restore-stubs.ts", JUDGE, CHECK_AWS_CALLS],
          include: ["test/**/*.test.ts"],
          exclude: ["test/core/**", "test/e2e/**", "test/faults/**", ...listExcluded(mode)],
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts", "test/faults/**/*.test.ts"],
          exclude: [...COUNTED, ...listExcluded(mode)],
          maxWorkers: 2,
          setupFiles: [JUDGE, CHECK_AWS_CALLS],
          sequence: { groupOrder: 1 },
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: "counted",
          include: COUNTED,
          exclude: [...listExcluded(mode)],
          fileParallelism: false,
          setupFiles: [JUDGE, CHECK_AWS_CALLS],
          sequence: { groupOrder: 2 },
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
}));
