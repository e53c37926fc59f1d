import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const page = await readFile(`${ROOT}docs/reference/clouds/bad-input.md`, "utf8");

/** Expands a pattern such as `a/{b,c}.ts`. */
function spelt(pattern: string): string[] {
  const [, before, choices, after] = /^(.*?)\{([^}]*)\}(.*)$/.exec(pattern) ?? [];
  if (choices === undefined) return [pattern];
  return choices.split(",").flatMap((choice) => spelt(`${before}${choice}${after}`));
}

const named = [...page.matchAll(/`(test\/[^`]+)`/g)].flatMap(([, pattern = ""]) => spelt(pattern));

test("the page on bad input names tests", () => {
  expect(named.length).toBeGreaterThan(20);
});

test.each([...new Set(named)])("the test %s, named by the page on bad input, exists", (path) => {
  expect(globSync(path, { cwd: ROOT })).not.toEqual([]);
});
