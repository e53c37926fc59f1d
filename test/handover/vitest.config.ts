import { defineConfig } from "vitest/config";

// The configuration of the suite with the real stock controller and ours. It takes minutes, and a Go build
// the first time. Not part of `npm test`.
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/handover/**/*.handover.ts"],
    reporters: ["default", "./test/setup/summary-reporter.ts"],
    globalSetup: ["./test/setup/global.ts"],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 1_200_000,
  },
});
