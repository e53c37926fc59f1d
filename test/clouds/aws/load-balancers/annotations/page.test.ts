import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ANNOTATIONS, type Annotation } from "#clouds/aws/load-balancers/annotations/table.ts";

const PAGE = readFileSync("docs/reference/classic-load-balancers-on-aws.md", "utf8");

test("the page of classic load balancers names the annotations that hold for them, and no others", () => {
  const [, table = ""] = PAGE.split("| annotation |");
  const named = [...(table.split("\n\n")[0] ?? "").matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(
    ([, name]) => name,
  );
  const known: readonly (readonly [string, Annotation<unknown>])[] = Object.entries(ANNOTATIONS);
  const forClassic = known.filter(([, annotation]) => annotation.classic !== undefined);

  expect(named.toSorted()).toEqual(forClassic.map(([name]) => name).toSorted());
});
