import { defineConfig } from "vitest/config";

// A suite of its own: it takes minutes, and a network that main.ts makes for it.
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    reporters: ["verbose", "./test/setup/summary-reporter.ts"],
    include: ["test/neighbours/**/*.suite.ts"],
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Each test goes on with what the one before has left.
    sequence: { concurrent: false },
    bail: 1,
  },
});
