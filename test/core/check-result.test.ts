import { expect, test } from "vitest";
import { reportFailure, reportOk, reportSkipped, reportWarning } from "#core/check-result.ts";

test("every finding has a remedy", () => {
  expect([reportOk("a"), reportWarning("b", "do"), reportFailure("c", "do"), reportSkipped("d")]).toEqual([
    { outcome: "ok", message: "a" },
    { outcome: "warning", message: "b", remedy: "do" },
    { outcome: "failed", message: "c", remedy: "do" },
    { outcome: "skipped", message: "d" },
  ]);
});
