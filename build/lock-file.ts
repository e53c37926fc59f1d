import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { ROOT } from "./bundle.ts";

/** The packages in package-lock.json, by npm's folder; "" is this package itself. */
export const LockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      resolved: z.string().optional(),
      /** The package's hash in the registry, in the form of Subresource Integrity. */
      integrity: z.string().optional(),
      dev: z.boolean().optional(),
      optional: z.boolean().optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
});
export type LockFile = z.output<typeof LockFile>;

/** Reads the lock file of this checkout. */
export async function readLockFile(): Promise<LockFile> {
  return LockFile.parse(JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8")));
}
