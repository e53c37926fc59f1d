import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { ANNOTATIONS } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import { ISSUES } from "#core/service/issues.ts";

const page = await readFile(
  new URL("../../../docs/reference/clouds/digitalocean.md", import.meta.url),
  "utf8",
);

test("the page has a row for every annotation that is read, and no others", () => {
  const section = page.slice(page.indexOf("## Annotations"), page.indexOf("## What is done when"));
  const named = section
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  expect(named.toSorted()).toEqual(Object.keys(ANNOTATIONS).toSorted());
});

test("the page lists errors by codes of the catalogue", () => {
  const section = page.slice(page.indexOf("## What goes wrong"), page.indexOf("## Moving over"));
  const codes = [...section.matchAll(/\| `([A-Z]\w+)`/g)].map(([, code]) => code ?? "");
  expect(codes.length).toBeGreaterThan(8);
  expect(codes.filter((code) => !Object.hasOwn(ISSUES, code))).toEqual([]);
});
