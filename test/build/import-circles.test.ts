import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../build/bundle.ts";

/** The folders whose imports are followed: all built or executed code except tests and benches. */
const FOLDERS = ["build", "functions", "src"];

/** Matches an import or export from a module, including lazy and type imports. */
const SPECIFIER = /(?:\bfrom|\bimport)\s*\(?\s*"(?<specifier>[^"]+)"/g;

test("has no import circles, including type and lazy imports", async () => {
  const imports = await readImports();
  expect(imports.size).toBeGreaterThan(600);
  expect(findCircles(imports)).toEqual([]);
});

test("finds a circle over three files and a file that imports itself", () => {
  const imports = new Map([
    ["a", ["b"]],
    ["b", ["c", "d"]],
    ["c", ["a"]],
    ["d", ["d"]],
    ["e", ["a"]],
  ]);
  expect(findCircles(imports)).toEqual([["a", "b", "c"], ["d"]]);
});

async function readImports(): Promise<ReadonlyMap<string, readonly string[]>> {
  const lists = await Promise.all(FOLDERS.map((folder) => readdir(join(ROOT, folder), { recursive: true })));
  const files = lists.flatMap((list, index) =>
    list.filter((file) => file.endsWith(".ts")).map((file) => join(FOLDERS[index] ?? "", file)),
  );
  const known = new Set(files);
  const entries = files.map(async (file) => {
    const text = await readFile(join(ROOT, file), "utf8");
    const targets = [...text.matchAll(SPECIFIER)].map(({ groups }) =>
      resolveImport(file, groups?.["specifier"] ?? ""),
    );
    return [file, targets.filter((target) => known.has(target))] as const;
  });
  return new Map(await Promise.all(entries));
}

/** Returns the path of an imported file in this repository; a package's name stays unchanged. */
function resolveImport(file: string, specifier: string): string {
  if (specifier.startsWith("#")) return specifier.replace("#", /^#functions\b/.test(specifier) ? "" : "src/");
  return specifier.startsWith(".") ? join(dirname(file), specifier) : specifier;
}

/** Returns the strongly connected components (Tarjan) with several files or a self-import, sorted. */
function findCircles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const path: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): number => {
    const number = order.size;
    order.set(file, number);
    lowest.set(file, number);
    path.push(file);
    for (const target of imports.get(file) ?? []) {
      const reached = order.has(target) ? order.get(target) : visit(target);
      if (path.includes(target))
        lowest.set(file, Math.min(lowest.get(file) ?? 0, reached ?? 0, lowest.get(target) ?? 0));
    }
    if (lowest.get(file) === number) {
      const component = path.splice(path.indexOf(file));
      if (component.length > 1 || imports.get(file)?.includes(file)) circles.push(component.toSorted());
    }
    return number;
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return circles.toSorted(([a = ""], [b = ""]) => a.localeCompare(b));
}
