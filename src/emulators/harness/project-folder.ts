import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The folder of this project, or of the installed package: sources and built files are at different depths
 * below it.
 */
export const PROJECT_FOLDER: string = findProjectFolder(dirname(fileURLToPath(import.meta.url)));

/** Returns the nearest folder with a package.json; the module's own without one, as for a copied program. */
function findProjectFolder(folder: string): string {
  const parent = dirname(dirname(folder));
  const candidates = [folder, dirname(folder), parent, dirname(parent)];
  return candidates.find((each) => existsSync(join(each, "package.json"))) ?? folder;
}
