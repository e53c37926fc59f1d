import { defineConfig } from "vitest/config";
import { listExcluded } from "../../setup/modes.ts";

// The configuration of a recorded run: the suites of the clouds as `npm test` has them, with every exchange
// written down. `record-suites.ts` starts it.
export default defineConfig({
  test: {
    root: new URL("../../..", import.meta.url).pathname,
    include: ["test/clouds/**/*.test.ts"],
    exclude: [...listExcluded("test")],
    globalSetup: ["./test/setup/global.ts"],
    setupFiles: ["./test/setup/restore-stubs.ts", "./test/vendor-models/recording/record-exchanges.ts"],
    isolate: false,
    maxWorkers: 2,
    reporters: ["dot"],
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
});
