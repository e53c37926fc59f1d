import { glob, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = ["core", "clouds", "config", "kube", "functions", "relay", "cli"].map(
  (folder) => `${folder}/**/*.ts`,
);

/** What makes a `TenantFact` out of any text: a cast, or the schema used as a function. */
const MAKES_FACTS =
  /as (?:readonly )?TenantFact\b|TenantFact\.(?:parse|safeParse|decode)|as (?:unknown as )?Told\b/;

/** What writes an Event or a condition by hand. */
const WRITES_BY_HAND = /\binvolvedObject:|\blastUpdateTime\b/;

async function filesWith(pattern: RegExp): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob(SOURCES, { cwd: root })) {
    if (pattern.test(await readFile(`${root}/${file}`, "utf8"))) found.push(file);
  }
  return found.sort();
}

test("facts for people in a cluster are made in one file", async () => {
  expect(await filesWith(MAKES_FACTS)).toEqual(["core/tenant-fact.ts"]);
});

test("Events and conditions are each written in one file", async () => {
  // The third describes what functions may hand back for the relay to write, and writes nothing itself.
  expect(await filesWith(WRITES_BY_HAND)).toEqual([
    "core/csr/approval.ts",
    "core/deferred-fields.ts",
    "kube/apply/record-events.ts",
  ]);
});
