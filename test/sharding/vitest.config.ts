import { defineConfig } from "vitest/config";

// The configuration of the suite with sixty clusters and their replicas. It takes minutes and most of two
// cores; `npm test` has the same suite with six.
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
