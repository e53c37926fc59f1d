import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const page = await readFile(`${ROOT}docs/reference/clouds/bad-input.md`, "utf8");

/** Each file of a pattern such as `a/{b,c}.ts`. */
function spelt(pattern: string): string[] {
  const [, before, choices, after] = /^(.*?)\{([^}]*)\}(.*)$/.exec(pattern) ?? [];
  if (choices === undefined) return [pattern];
  return choices.split(",").flatMap((choice) => spelt(`${before}${choice}${after}`));
}

const named = [...page.matchAll(/`(test\/[^`]+)`/g)].flatMap(([, pattern = ""]) => spelt(pattern));

test("the page of what is wrong names tests", () => {
  expect(named.length).toBeGreaterThan(20);
});

test.each([...new Set(named)])("%s, of the page of what is wrong, is there", (path) => {
  expect(globSync(path, { cwd: ROOT })).not.toEqual([]);
});
