import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this project, or of the installed package: sources and what is built of them lie at different depths below it. */
export const PROJECT_FOLDER: string = findProjectFolder(dirname(fileURLToPath(import.meta.url)));

/** The nearest folder with a package.json; the module's own where there is none, as for a program that was copied alone. */
function findProjectFolder(folder: string): string {
  const candidates = [folder, dirname(folder), dirname(dirname(folder))];
  return candidates.find((each) => existsSync(join(each, "package.json"))) ?? folder;
}
