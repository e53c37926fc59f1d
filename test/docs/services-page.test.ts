import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ANNOTATIONS, type Annotation } from "#clouds/aws/load-balancers/annotations/table.ts";

const page = readFileSync(new URL("../../docs/reference/services-on-aws.md", import.meta.url), "utf8");
const section = page.split("\n## Annotations\n")[1]?.split("\n## ")[0] ?? "";
const rows = section
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split("|").map((cell) => cell.trim()));

test("the page has exactly one row for each annotation", () => {
  const named = rows.flatMap(([, names = ""]) => [...names.matchAll(/`([\w-]+)`/g)].map(([, name]) => name));
  expect(named.toSorted()).toEqual(Object.keys(ANNOTATIONS).toSorted());
});

test("each kind reads exactly the annotations that the page lists for it", () => {
  const read = rows.flatMap(([, names = "", classic = "", network = ""]) =>
    [...names.matchAll(/`([\w-]+)`/g)].map(([, name = ""]) => [name, holds(classic), holds(network)]),
  );
  const known = Object.entries(ANNOTATIONS).map(([name, annotation]) => {
    const { classic, network }: Annotation<never> = annotation as never;
    return [name, classic !== undefined, network !== undefined];
  });
  expect(read.toSorted()).toEqual(known.toSorted());
});

function holds(cell: string): boolean {
  return !cell.startsWith("–") && cell !== "refused";
}
