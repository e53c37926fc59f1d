import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "#core/message-of.ts";
import { findProgram } from "#test/setup/find-program.ts";
import { cacheFolder, makeOnce } from "#test/setup/make-once.ts";
import type { Part } from "#test/setup/parts.ts";
import { runProgram } from "#test/setup/run-program.ts";

/** What to run for moto_server, before its own flags. */
export interface MotoProgram {
  readonly program: string;
  readonly args: readonly string[];
}

/** moto_server, an emulator of EC2: from the PATH, or installed once into a virtual environment of its own. */
export async function getMotoProgram(say: (line: string) => void): Promise<Part<MotoProgram>> {
  const found = await findProgram("moto_server");
  if (found !== undefined) return { kind: "present", value: { program: found, args: [] } };
  const python = await findProgram("python3");
  if (python === undefined) {
    return { kind: "missing", because: "no moto_server on the PATH, and no python3 to install it" };
  }
  return install(python, say);
}

async function install(python: string, say: (line: string) => void): Promise<Part<MotoProgram>> {
  const requirements = fileURLToPath(new URL("requirements.txt", import.meta.url));
  const hash = createHash("sha256")
    .update(await readFile(requirements))
    .digest("hex")
    .slice(0, 16);
  const folder = join(cacheFolder(), "moto", hash);
  try {
    await makeOnce(folder, async (temporary) => {
      say("installing moto into a virtual environment, once …");
      await runProgram(python, ["-m", "venv", temporary]);
      const pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--requirement",
        requirements,
      ];
      await runProgram(join(temporary, "bin/python"), pip);
    });
  } catch (error) {
    const why = messageOf(error);
    return { kind: "missing", because: `python3 could not install moto: ${why}` };
  }
  // Not bin/moto_server: its first line names the folder as it was while it was made.
  return { kind: "present", value: { program: join(folder, "bin/python"), args: ["-m", "moto.server"] } };
}
