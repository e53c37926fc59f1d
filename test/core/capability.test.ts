import { expect, test } from "vitest";
import { Observation } from "#core/capability.ts";

test.each([
  ["what is there", { kind: "observed", state: { listeners: [] } }, true],
  ["an error", { kind: "error", code: "Throttled", message: "slower" }, true],
  ["an error that there is not", { kind: "error", code: "Foreign", message: "" }, false],
  ["rubbish", { kind: "gone" }, false],
])("parses an observation: %s", (_, value, expected) => {
  expect(Observation.safeParse(value).success).toBe(expected);
});
