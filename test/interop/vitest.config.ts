import { defineConfig } from "vitest/config";

// The configuration of the interop suite, which takes minutes and needs a network that main.ts creates.
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    reporters: ["verbose", "./test/setup/summary-reporter.ts"],
    include: ["test/interop/**/*.suite.ts"],
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Each test continues from the state that the previous one leaves.
    sequence: { concurrent: false },
    bail: 1,
  },
});
