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
