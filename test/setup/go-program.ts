import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { findProgram } from "#test/setup/find-program.ts";
import { getCacheFolder, makeOnce } from "#test/setup/make-once.ts";
import type { Part } from "#test/setup/parts.ts";
import { runProgram } from "#test/setup/run-program.ts";
import type { Program } from "#test/setup/virtual-environment.ts";

/**
 * Builds a package of the Go module in a folder, a path relative to this file, once for each content of the
 * module. Its go.sum holds the modules' hashes. `what` names the program in messages and in the cache.
 */
export async function makeGoProgram(
  what: string,
  folderOfSource: string,
  say: (line: string) => void,
  packageOfProgram = ".",
): Promise<Part<Program>> {
  const go = await findProgram("go");
  if (go === undefined) return { kind: "missing", because: `no go to build ${what}` };
  const source = fileURLToPath(new URL(folderOfSource, import.meta.url));
  const names = (await readdir(source, { recursive: true }))
    .filter((name) => /\.(go|mod|sum)$/.test(name))
    .sort();
  const hash = createHash("sha256");
  for (const name of names) hash.update(`${name}\n`).update(await readFile(join(source, name)));
  const folder = join(getCacheFolder(), what, hash.digest("hex").slice(0, 16));
  try {
    await makeOnce(folder, async (temporary) => {
      say(`building ${what} with Go, once (about a minute) …`);
      await runProgram(go, ["build", "-p", "2", "-o", join(temporary, what), packageOfProgram], {
        folder: source,
      });
    });
  } catch (error) {
    return { kind: "missing", because: `go could not build ${what}: ${getErrorMessage(error)}` };
  }
  return { kind: "present", value: { program: join(folder, what), args: [] } };
}
