import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { CLOUD_PROVIDERS, findCloudProvider, LOAD_BALANCER_MODELS } from "#clouds/providers.ts";
import { buildMinimalConfig } from "#test/clouds/worlds.ts";

const ROOT = new URL("../../", import.meta.url);
const readme = await readFile(new URL("README.md", ROOT), "utf8");

/** The table has no column for a cloud that is only for trials. */
const providers = CLOUD_PROVIDERS.filter(({ forTrials }) => !forTrials).map(
  ({ provider }) => provider as string,
);

/** The cells of the table, by row and cloud provider. */
const rows = tableBelow("Support by cloud. ");
const adviseOn = (row: string): string =>
  `README.md: correct row "${row}" of the table below "Support by cloud."; expected are the clouds with "yes"`;
const yes = (row: string): string[] =>
  Object.entries(rows.get(row) ?? {}).flatMap(([provider, cell]) => (/\byes\b/.test(cell) ? [provider] : []));
const having = (file: string): string[] =>
  providers.filter((provider) => existsSync(new URL(`src/clouds/${provider}/${file}`, ROOT)));

test("the feature table has a column for each cloud, and each cloud has a page", () => {
  const pages = rows.get("page") ?? {};
  const advice =
    'README.md: give each cloud a column in the table below "Support by cloud.", in alphabetical order';
  expect(Object.keys(pages), advice).toEqual(providers);
  for (const [provider, cell] of Object.entries(pages)) {
    const file = /\]\(([^)]+)\)/.exec(cell)?.[1];
    const page = `README.md: link an existing page, such as docs/reference/clouds/${provider}.md, in row "page" of ${provider}`;
    expect(file !== undefined && existsSync(new URL(file, ROOT)), page).toBe(true);
  }
  expect(yes("nodes"), adviseOn("nodes")).toEqual(providers);
});

test("clouds with load balancers are those in the service controller's list", () => {
  const known = Object.keys(LOAD_BALANCER_MODELS).filter((provider) => providers.includes(provider));
  expect(yes("load balancers"), adviseOn("load balancers")).toEqual(known.toSorted());
});

test.each([
  ["routes", "routes/capability.ts"],
  ["tags of instances", "tags/capability.ts"],
])("clouds with %s are those with the capability", (row, file) => {
  expect(yes(row), adviseOn(row)).toEqual(having(file));
  expect(having(file).length).toBeGreaterThan(0);
});

test("clouds with the csr-approver are those that accept it", () => {
  const allowed = providers.filter((provider) => !refusesApprover(provider));
  expect(yes("csr-approver"), adviseOn("csr-approver")).toEqual(allowed);
});

/**
 * Whether a provider that may reject the approver rejects it with a minimal configuration. The others verify
 * addresses with any configuration.
 */
function refusesApprover(provider: string): boolean {
  const kind = findCloudProvider(provider);
  if (kind?.hasTrustedAddresses === undefined) return false;
  return !kind.hasTrustedAddresses(buildMinimalConfig(provider));
}

function tableBelow(words: string): ReadonlyMap<string, Readonly<Record<string, string>>> {
  const [, after = ""] = readme.split(words);
  const lines = after.split("\n").slice(1);
  const table = lines.slice(lines.findIndex((line) => line.startsWith("|")));
  const cells = table
    .slice(
      0,
      table.findIndex((line) => !line.startsWith("|")),
    )
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const [head = [], , ...body] = cells;
  const names = head.slice(1).map((cell) => cell.replaceAll("`", ""));
  return new Map(
    body.map(([row = "", ...found]) => [
      row,
      Object.fromEntries(names.map((name, index) => [name, found[index] ?? ""])),
    ]),
  );
}
