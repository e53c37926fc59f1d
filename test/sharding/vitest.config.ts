import { defineConfig } from "vitest/config";

// Sixty clusters and their replicas: minutes, and most of two cores. `npm test` plays the same with six.
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/sharding/**/*.sharding.ts"],
    reporters: ["default", "./test/setup/summary-reporter.ts"],
    globalSetup: ["./test/setup/global.ts"],
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
