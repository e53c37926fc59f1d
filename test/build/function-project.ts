import { copyFile, cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { getBuiltFunctions } from "#test/build/shared-build.ts";
import { ROOT } from "../../build/bundle.ts";

/**
 * Creates the folder from which a function platform starts: the current functions, built, and serverless.yml.
 */
export async function makeFunctionProject(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await copyFile(join(ROOT, "serverless.yml"), join(folder, "serverless.yml"));
  for (const name of ["node_modules", "build"]) await symlink(join(ROOT, name), join(folder, name));
  await cp(await getBuiltFunctions(), join(folder, "dist"), { recursive: true });
}
