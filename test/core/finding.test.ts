import { expect, test } from "vitest";
import { failed, ok, skipped, warning } from "#core/finding.ts";

test("what is not as it should be comes with what to do", () => {
  expect([ok("a"), warning("b", "do"), failed("c", "do"), skipped("d")]).toEqual([
    { outcome: "ok", message: "a" },
    { outcome: "warning", message: "b", remedy: "do" },
    { outcome: "failed", message: "c", remedy: "do" },
    { outcome: "skipped", message: "d" },
  ]);
});
