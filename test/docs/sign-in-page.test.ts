import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type * as z from "zod";
import { SignIn } from "#config/sign-in/kinds.ts";
import { SecretReference } from "#platforms/secrets/reference.ts";
import { ROOT } from "../../build/bundle.ts";

const reference = await readFile(`${ROOT}docs/reference/configuration.md`, "utf8");
const section = reference.split(/^### /m).find((each) => each.startsWith("Signing in\n")) ?? "";

/** Returns the row of a table with this code in its first cell. */
const rowOf = (name: string): string =>
  section
    .split("\n")
    .filter((line) => line.startsWith(`| \`${name}\` |`))
    .join("\n");

test.each(SignIn.options.map((option) => [option.shape.kind.value, option] as const))(
  "the reference has the kind %s with its keys",
  (kind, option) => {
    const keys = Object.keys(option.shape).filter((key) => key !== "kind");
    expect(keys.filter((key) => !rowOf(kind).includes(`\`${key}\``))).toEqual([]);
    expect(rowOf(kind)).not.toBe("");
  },
);

test("the reference has the places of secrets, and the reasons of failed sign-ins", async () => {
  const homes = Object.keys((SecretReference as unknown as z.ZodObject).shape);
  expect(homes.filter((home) => !section.includes(`\`${home}\``))).toEqual([]);
  const source = await readFile(`${ROOT}src/platforms/secrets/secret-error.ts`, "utf8");
  const codes = [...source.matchAll(/\| "(\w+)"/g)].map(([, code = ""]) => code);
  expect(codes.length).toBeGreaterThan(5);
  expect(codes.filter((code) => !section.includes(`\`${code}\``))).toEqual([]);
});
