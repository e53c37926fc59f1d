import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  ANNOTATIONS,
  type Annotation,
  type LoadBalancerKind,
} from "#clouds/aws/load-balancers/annotations/table.ts";

const PAGE = readFileSync("docs/reference/services-on-aws.md", "utf8");

test.each([
  ["classic", 2],
  ["network", 3],
] as const)("the page lists the annotations of %s load balancers", (kind, column) => {
  const [, table = ""] = PAGE.split("| annotation | CLB | NLB |");
  const rows = (table.split("\n\n")[0] ?? "").split("\n").map((row) => row.split("|"));
  const named = rows.flatMap((cells) => {
    const holds = !/^ (?:–|refused)/.test(cells[column] ?? "");
    return [...(cells[1] ?? "").matchAll(/`([a-z0-9-]+)`/g)].map(([, name]) => [name, holds]);
  });

  expect(Object.fromEntries(named)).toEqual(holding(kind));
});

function holding(kind: LoadBalancerKind): Record<string, boolean> {
  const known: readonly (readonly [string, Annotation<unknown>])[] = Object.entries(ANNOTATIONS);
  return Object.fromEntries(known.map(([name, annotation]) => [name, annotation[kind] !== undefined]));
}
