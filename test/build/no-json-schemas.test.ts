import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../build/bundle.ts";
import { withoutJsonSchemas } from "../../build/no-json-schemas.ts";

test("takes out of zod's module every method that describes a schema as JSON Schema, and nothing else", async () => {
  const source = await readFile(join(ROOT, "node_modules/zod/v4/classic/schemas.js"), "utf8");
  const left = withoutJsonSchemas(source);
  expect(left).not.toMatch(/processJSONSchema|to-json-schema/);
  // Limits of numbers and texts are read off these.
  expect(left).toContain("processors.aggregateChecks(inst)");
  const lines = new Set(source.split("\n"));
  expect(left.split("\n").filter((line) => !lines.has(line))).toHaveLength(2);
});

test("fails where zod's module has another form, so that nothing of it is left out by mistake", () => {
  expect(() => withoutJsonSchemas("export const string = () => {};")).toThrow("another form");
});
