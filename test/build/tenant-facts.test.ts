import { glob, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = ["src/{core,platforms,clouds,config,kube,relay,cli}/**/*.ts", "functions/**/*.ts"];

/** Matches code that makes a `TenantFact` out of any text: a cast, or the schema used as a function. */
const MAKES_FACTS =
  /as (?:readonly )?TenantFact\b|TenantFact\.(?:parse|safeParse|decode)|as (?:unknown as )?Told\b/;

/** Matches code that writes an Event or a condition directly. */
const WRITES_BY_HAND = /\binvolvedObject:|\blastUpdateTime\b/;

async function filesWith(pattern: RegExp): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob(SOURCES, { cwd: root })) {
    if (pattern.test(await readFile(`${root}/${file}`, "utf8"))) found.push(file);
  }
  return found.sort();
}

test("tenant facts are created in only one file", async () => {
  expect(await filesWith(MAKES_FACTS)).toEqual(["src/core/tenant-fact.ts"]);
});

test("Events and conditions are each written in only one file", async () => {
  // The third describes deferred writes of functions, and writes nothing itself.
  expect(await filesWith(WRITES_BY_HAND)).toEqual([
    "src/core/csr/controller.ts",
    "src/core/deferred-fields.ts",
    "src/kube/apply/record-events.ts",
  ]);
});
