import { defineConfig } from "vitest/config";

/** What counts requests or has a thousand nodes: other tests beside it would change the counts. */
const COUNTED = ["counts", "thousand-nodes", "bench", "retries", "nodes"].map(
  (name) => `test/e2e/${name}.test.ts`,
);

// Projects by what they need: `core` is pure and shares its workers, `shell` touches files, sockets and processes, `e2e` runs whole
// control planes and goes two files at a time, and `counted` one.
export default defineConfig({
  test: {
    // Many tests wait for servers: on a machine of two cores two workers would leave it idle for a third of the time.
    maxWorkers: 3,
    reporters: ["default", "./test/setup/summary-reporter.ts"],
    globalSetup: ["./test/setup/global.ts"],
    coverage: {
      provider: "v8",
      include: [
        "core/**",
        "clouds/**",
        "config/**",
        "kube/**",
        "functions/**",
        "delivery/**",
        "relay/**",
        "sweep/**",
        "tracing/**",
        "cli/**",
        "emulators/**",
      ],
      exclude: ["**/*.md", "**/*.json"],
      reporter: ["text-summary", "json-summary"],
      thresholds: { "core/**": { lines: 100, branches: 100, functions: 100, statements: 100 } },
    },
    projects: [
      {
        extends: true,
        test: {
          name: "core",
          include: ["test/core/**/*.test.ts"],
          pool: "threads",
          isolate: false,
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "shell",
          include: ["test/**/*.test.ts"],
          exclude: ["test/core/**", "test/e2e/**", "test/faults/**"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts", "test/faults/**/*.test.ts"],
          exclude: COUNTED,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        test: {
          name: "counted",
          include: COUNTED,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
