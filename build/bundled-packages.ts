import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { type Bundle, listBundledInputs, ROOT } from "./bundle.ts";

const PackageJson = z.object({ name: z.string(), version: z.string(), license: z.string() });
/** A package with code in a bundle. */
export type BundledPackage = z.output<typeof PackageJson>;

/** A package's folder, as the part of a path that ends with its name. */
const PACKAGE_FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;

/** Returns the folders, relative to ROOT, of all packages with code in the bundles. */
export function listBundledFolders(bundles: readonly Bundle[]): readonly string[] {
  const inputs = new Set(bundles.flatMap(listBundledInputs));
  return [...new Set([...inputs].flatMap((input) => PACKAGE_FOLDER.exec(input)?.[0] ?? []))];
}

/** Reads the package.json of a folder; rejects if it names no licence. */
export async function readPackage(folder: string): Promise<BundledPackage> {
  const file = join(ROOT, folder, "package.json");
  const parsed = PackageJson.safeParse(JSON.parse(await readFile(file, "utf8")));
  if (!parsed.success) throw new Error(`${folder} is bundled, but its package.json names no licence`);
  return parsed.data;
}

/** In place of a folder: a source of this package itself. */
export const OURS = "";

/**
 * Returns which packages of a bundle import which, by their folders; OURS imports the first ones. A package
 * without code in the bundle is left out, and its imports count as its importers'.
 */
export function mapPackageImports(bundle: Bundle): ReadonlyMap<string, readonly string[]> {
  const { inputs } = bundle.metafile;
  const owners = new Map(Object.keys(inputs).map((path) => [path, PACKAGE_FOLDER.exec(path)?.[0] ?? OURS]));
  const bundled = new Set([OURS, ...listBundledFolders([bundle])]);
  const importedBy = (owner: string): string[] => {
    const imported = new Set<string>();
    const paths = new Set([...owners.keys()].filter((path) => owners.get(path) === owner));
    // Iterating over a growing set visits the added files, too.
    for (const path of paths)
      for (const { path: next, external } of inputs[path]?.imports ?? []) {
        const other = owners.get(next);
        if (external === true || other === undefined) continue;
        if (other === owner || !bundled.has(other)) paths.add(next);
        else imported.add(other);
      }
    return [...imported].filter((folder) => folder !== OURS).sort();
  };
  return new Map([...bundled].map((owner) => [owner, importedBy(owner)]));
}
