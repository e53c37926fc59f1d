import { copyFile, cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { builtFunctions } from "#test/build/shared-build.ts";
import { ROOT } from "../../build/bundle.ts";

/** Makes in a folder what a function platform is started from: the functions as they are now, built, and serverless.yml. */
export async function makeFunctionProject(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await copyFile(join(ROOT, "serverless.yml"), join(folder, "serverless.yml"));
  for (const name of ["node_modules", "build"]) await symlink(join(ROOT, name), join(folder, name));
  await cp(await builtFunctions(), join(folder, "dist"), { recursive: true });
}
