import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DESCRIPTORS } from "#core/descriptors.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
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
