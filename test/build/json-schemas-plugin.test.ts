import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../build/bundle.ts";
import { removeJsonSchemas } from "../../build/json-schemas-plugin.ts";

test("removes exactly zod's methods that describe a schema as JSON Schema", async () => {
  const source = await readFile(join(ROOT, "node_modules/zod/v4/classic/schemas.js"), "utf8");
  const left = removeJsonSchemas(source);
  expect(left).not.toMatch(/processJSONSchema|to-json-schema/);
  // Limits of numbers and texts come from these.
  expect(left).toContain("processors.aggregateChecks(inst)");
  const lines = new Set(source.split("\n"));
  expect(left.split("\n").filter((line) => !lines.has(line))).toHaveLength(2);
});

test("fails if zod's module has another form, and never removes other code", () => {
  expect(() => removeJsonSchemas("export const string = () => {};")).toThrow("another form");
});
