import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkWords, listFiles } from "../../build/lint-words.ts";

test.each([
  ["a.ts", "// Whoever asks gets it.", ['"Whoever": name the actor, or say that it is missing']],
  ["a.ts", "const x = 1; // there is none", ['"is none": say "is missing", "is invalid" or "there is no …"']],
  ["a.ts", "/** The same of a list. */", ['"/** The same": name the thing that is documented']],
  [
    "a.md",
    "It is written as it is to be.",
    ['"as it is to be": name the desired state', '"is to be": say "must", "will" or "needs"'],
  ],
  ["a.ts", "// Two nodes are to be deleted.", ['"are to be": say "must", "will" or "needs"']],
  ["a.ts", "// It asks again and again.", ['"again and again": say "repeatedly", or how often']],
  ["a.ts", 'fail("the answer is no list of nodes")', ['"is no list": say "is not a …"']],
  ["a.md", "A Service that is no more, is ignored.", ['"is no more,": say "no longer exists"']],
  ["a.ts", "/** … and no longer. */", ['"/** …": a comment is a sentence of its own']],
  ["a.md", "It stays, also if it is empty.", ['"also if": say "even if"']],
  ["a.md", `${"word ".repeat(25)}end`, ["the line is longer than 120 characters"]],
  ["a.md", `| ${"word ".repeat(25)}end |`, []],
  ["a.md", `\`\`\`\n${"word ".repeat(25)}end\n\`\`\``, []],
  ["a.md", `See https://example.com/${"x".repeat(120)}`, []],
  ["a.ts", `// ${"word ".repeat(30)}`, ["a sentence of 30 words: write at most 25"]],
  ["a.ts", `// ${"word ".repeat(20)}end.\n// ${"word ".repeat(20)}`, []],
  [
    "a.ts",
    `/**\n * ${"word ".repeat(20)}\n * ${"word ".repeat(10)}\n */`,
    ["a sentence of 30 words: write at most 25"],
  ],
  ["a.ts", `call("${"word ".repeat(30)}");`, []],
  ["a.ts", `/** ${"long-word ".repeat(13)}end. */`, ["the comment is longer than 120 characters"]],
  ["a.ts", `/**\n * ${"long-word ".repeat(13)}end.\n */`, ["the comment is longer than 120 characters"]],
  ["a.ts", `// ${"long-word ".repeat(13)}end.`, ["the comment is longer than 120 characters"]],
  ["a.ts", `// ${"long-word ".repeat(11)}end.`, []],
  ["a.ts", `// See https://example.com/${"x".repeat(120)}`, []],
  ["a.ts", `// biome-ignore lint: ${"long-word ".repeat(13)}end.`, []],
  ["a.ts", "// words-ignore: a wire value\nkind: 'nobody'", []],
  ["a.ts", "// words-ignore:\nkind: 'nobody'", ['"nobody": name the actor, or say that it is missing']],
  ["a.ts", "// The list is not nonempty.", []],
])("%s: %j", (path, text, messages) => {
  expect(checkWords(path, text).map(({ message }) => message)).toEqual(messages);
});

test("says the line, from 1", () => {
  expect(checkWords("a.md", "one\n\nnobody")).toMatchObject([{ line: 3 }]);
});

test("checks new files as well, and no ignored or deleted ones", async () => {
  const root = await mkdtemp(join(tmpdir(), "lint-words-"));
  onTestFinished(() => rm(root, { recursive: true }));
  execFileSync("git", ["init", "--quiet"], { cwd: root });
  await writeFile(join(root, ".gitignore"), "ignored.md\n");
  for (const name of ["tracked.md", "deleted.md", "new.md", "ignored.md", "new.json"])
    await writeFile(join(root, name), "");
  execFileSync("git", ["add", "tracked.md", "deleted.md"], { cwd: root });
  await rm(join(root, "deleted.md"));
  expect(listFiles(root).toSorted()).toEqual(["new.md", "tracked.md"]);
});
