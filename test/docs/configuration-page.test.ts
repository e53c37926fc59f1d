import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CONTROLLER_FLAGS, DESCRIPTORS } from "#core/descriptors.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import { DEFAULT_SETTINGS, selectControllerSettings } from "#core/settings.ts";
import { ROOT } from "../../build/bundle.ts";

const FILE = "docs/reference/configuration.md";
const page = await readFile(join(ROOT, FILE), "utf8");

test("the table of controllers has a row for each, with aliases, default and function", () => {
  const [, section = ""] = /\n## Controllers\n([\s\S]*?)\n## /.exec(page) ?? [];
  const rows = [...section.matchAll(/^\| (`.*)$/gm)].map(([, row = ""]) => row.split(" | ").slice(0, 4));
  const expected = DESCRIPTORS.map(({ name, functionName, enablement }) => [
    `\`${name}\``,
    (enablement?.aliases ?? []).map((alias) => `\`${alias}\``).join(", "),
    enablement?.onByDefault === true ? "yes" : "no",
    `\`${functionName}\``,
  ]);
  expect(rows, `write these cells at the start of the rows of "Controllers" in ${FILE}`).toEqual(expected);
});

test.each([
  ["signIn.node", /^\| (`signIn\.node`[^|]*) \|/m, /`signIn\.([a-z0-9-]+)`/g],
  [
    "--function-kubeconfig",
    /^\| `--function-kubeconfig` .*the identity of the function (.*) \|$/m,
    /`([a-z0-9-]+)`/g,
  ],
])("the row of %s names the identity of every function", (row, cell, name) => {
  const names = [...(cell.exec(page)?.[1] ?? "").matchAll(name)].map((match) => match[1]);
  expect(names, `name these in the row of ${row} in ${FILE}`).toEqual(FUNCTION_IDENTITIES);
});

function listKeys(value: unknown, path: string): readonly string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [path];
  const entries = Object.entries(value);
  return entries.length === 0
    ? [path]
    : entries.flatMap(([key, member]) => listKeys(member, `${path}.${key}`));
}

test("every setting of a controller has a row", () => {
  const settings = Object.entries(selectControllerSettings(DEFAULT_SETTINGS));
  const keys = settings.flatMap(([key, value]) => listKeys(value, key));
  const missing = keys.filter((key) => !new RegExp(`^\\| [^|]*\`${key}\``, "m").test(page));
  expect(missing, `add a row for each to the table "Clusters file" in ${FILE}`).toEqual([]);
  expect(keys).toContain("nodes.deletion.graceSeconds");
});

test("every flag of a controller has a row, and so has the key that it sets", () => {
  const missing = CONTROLLER_FLAGS.flatMap(({ flags }) =>
    flags.flatMap(({ option, sets }) => {
      const [flag = ""] = option.split(" ");
      return [`| \`${flag}\``, `\`${sets}\``].filter((text) => !page.includes(text));
    }),
  );
  expect(missing, `add these to ${FILE}`).toEqual([]);
});
