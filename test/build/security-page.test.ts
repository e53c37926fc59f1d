import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = await readFile(`${root}/SECURITY.md`, "utf8");

/** The threats on the page: table rows with three columns. */
const threats = page
  .split("\n")
  .filter((line) => /^\| .+ \| .+ \| .+ \|$/.test(line) && !line.startsWith("| threat "));

const named = [...page.matchAll(/`(test\/[\w/.-]+\.ts)`: "([^"]+)"/g)].map(([, file = "", title = ""]) => ({
  file,
  title,
}));

test("each threat names a test", () => {
  expect(threats.length).toBeGreaterThan(30);
  expect(named).toHaveLength(threats.length);
});

test.each(named)("$file has the test that the security page names: $title", async ({ file, title }) => {
  const text = await readFile(`${root}/${file}`, "utf8");
  // The name must be a whole title, or a whole row.
  const quoted = [`"${title}"`, `\`${title}\``, `${title}:`];
  expect(quoted.some((each) => text.includes(each))).toBe(true);
});
