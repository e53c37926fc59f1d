import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { type Bundle, bundledInputs, ROOT } from "./bundle.ts";

const PackageJson = z.object({ name: z.string(), version: z.string(), license: z.string() });
/** A package of which something is in a bundle. */
export type BundledPackage = z.output<typeof PackageJson>;

/** A package's folder, as the part of a path that ends with its name. */
const PACKAGE_FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;

/** The folders, relative to ROOT, of all packages of which something is in the bundles. */
export function bundledFolders(bundles: readonly Bundle[]): readonly string[] {
  const inputs = new Set(bundles.flatMap(bundledInputs));
  return [...new Set([...inputs].flatMap((input) => PACKAGE_FOLDER.exec(input)?.[0] ?? []))];
}

/** What the package of a folder says of itself; rejects where it names no licence. */
export async function packageIn(folder: string): Promise<BundledPackage> {
  const file = join(ROOT, folder, "package.json");
  const parsed = PackageJson.safeParse(JSON.parse(await readFile(file, "utf8")));
  if (!parsed.success) throw new Error(`${folder} is bundled, but its package.json names no licence`);
  return parsed.data;
}

/** In the place of a folder: what is no package, but a source of this one. */
export const OURS = "";

/**
 * Which packages of a bundle import which, by their folders; OURS is what imports the first ones. A package of which nothing is left in the
 * bundle is left out, and what it imports counts as imported by who imports it.
 */
export function importsBetweenPackages(bundle: Bundle): ReadonlyMap<string, readonly string[]> {
  const { inputs } = bundle.metafile;
  const owners = new Map(Object.keys(inputs).map((path) => [path, PACKAGE_FOLDER.exec(path)?.[0] ?? OURS]));
  const bundled = new Set([OURS, ...bundledFolders([bundle])]);
  const importedBy = (owner: string): string[] => {
    const imported = new Set<string>();
    const paths = new Set([...owners.keys()].filter((path) => owners.get(path) === owner));
    // A set that grows is walked to its end.
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
