import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { ROOT } from "./bundle.ts";

/** What package-lock.json says of packages, by the folder in which npm puts each; "" is this package itself. */
export const LockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      resolved: z.string().optional(),
      /** Of the package as the registry hands it out, in the form of Subresource Integrity. */
      integrity: z.string().optional(),
      dev: z.boolean().optional(),
      optional: z.boolean().optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
});
export type LockFile = z.output<typeof LockFile>;

/** The lock file of this checkout. */
export async function readLockFile(): Promise<LockFile> {
  return LockFile.parse(JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8")));
}
