import { defineConfig } from "vitest/config";

// Three projects by what they need: `core` is pure and shares its workers, `shell` touches files, sockets and
// processes, `e2e` runs whole control planes and goes one file at a time so that two cores are enough.
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
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
