import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../build/bundle.ts";

const IGNORED = new Set(["node_modules", "dist", "coverage", "sandbox", ".git", ".serverless", ".cache"]);

const pages = await pagesIn("");

async function pagesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(join(ROOT, folder), { withFileTypes: true })) {
    if (IGNORED.has(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await pagesIn(path)));
    else if (entry.name.endsWith(".md")) found.push(path);
  }
  return found;
}

const read = (page: string): Promise<string> => readFile(join(ROOT, page), "utf8");

/** Removes code, which contains no links. */
const withoutCode = (text: string): string =>
  text.replaceAll(/```[\s\S]*?```/g, "").replaceAll(/`[^`\n]*`/g, "");

/** Returns the anchors of a page's headings, as GitHub generates them. */
function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = [...text.replaceAll(/```[\s\S]*?```/g, "").matchAll(/^#+ (.*)$/gm)];
  return new Set(
    headings.map(([, heading = ""]) => {
      const words = heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\p{M}\s_-]/gu, "")
        .trim()
        .replaceAll(/\s/g, "-");
      const before = seen.get(words) ?? 0;
      seen.set(words, before + 1);
      return before === 0 ? words : `${words}-${before}`;
    }),
  );
}

interface Link {
  readonly link: string;
  /** The path in the repository; undefined outside of it. */
  readonly file: string;
  readonly anchor: string | undefined;
}

async function linksOf(page: string): Promise<Link[]> {
  const text = withoutCode(await read(page));
  return [...text.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, link = ""]) => {
    const [path = "", anchor] = link.split("#", 2);
    return { link, file: path === "" ? page : normalize(join(dirname(page), path)), anchor };
  });
}

test.each(pages)("all links of %s have existing targets", async (page) => {
  const broken: string[] = [];
  for (const { link, file, anchor } of await linksOf(page)) {
    const isThere = existsSync(join(ROOT, file));
    if (!isThere) broken.push(link);
    else if (anchor !== undefined && file.endsWith(".md") && !anchorsOf(await read(file)).has(anchor))
      broken.push(link);
  }
  expect(broken, `${page}: correct these links`).toEqual([]);
});

test("every page of docs is in its index, or in an indexed folder", async () => {
  const linked = new Set((await linksOf("docs/README.md")).map(({ file }) => file.replace(/\/$/, "")));
  const isListed = (page: string): boolean => linked.has(page) || linked.has(dirname(page));
  const inDocs = pages.filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
  expect(inDocs.length).toBeGreaterThan(30);
  const advice = "docs/README.md: add a line with a link to each of these pages";
  expect(
    inDocs.filter((page) => !isListed(page)),
    advice,
  ).toEqual([]);
  for (const file of linked)
    expect((await stat(join(ROOT, file))).isFile() || /runbooks|decisions/.test(file)).toBe(true);
});
