import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { findProgram } from "#test/setup/find-program.ts";
import { getCacheFolder, makeOnce } from "#test/setup/make-once.ts";
import type { Part } from "#test/setup/parts.ts";
import { runProgram } from "#test/setup/run-program.ts";

/** The command of a program, without its own flags. */
export interface Program {
  readonly program: string;
  readonly args: readonly string[];
}

/** The programs of Python packages. */
export interface VirtualEnvironment {
  /** Returns the command `python -m MODULE`. */
  module(name: string): Program;
  /** Returns a program in the environment's bin. */
  script(name: string): Program;
  /** Returns a file in the environment's bin that is not a Python script. */
  file(name: string): string;
}

/**
 * Installs packages from PyPI into a virtual environment, once for each content of the requirements file next
 * to this one. `what` names them in messages and in the cache.
 */
export async function makeVirtualEnvironment(
  what: string,
  requirementsFile: string,
  say: (line: string) => void,
): Promise<Part<VirtualEnvironment>> {
  const python = await findProgram("python3");
  if (python === undefined) return { kind: "missing", because: `no python3 to install ${what}` };
  const requirements = fileURLToPath(new URL(requirementsFile, import.meta.url));
  const hash = createHash("sha256")
    .update(await readFile(requirements))
    .digest("hex")
    .slice(0, 16);
  const folder = join(getCacheFolder(), what, hash);
  try {
    await makeOnce(folder, async (temporary) => {
      say(`installing ${what} into a virtual environment, once …`);
      await runProgram(python, ["-m", "venv", temporary]);
      await runProgram(join(temporary, "bin/python"), [...PIP_INSTALL, "--requirement", requirements]);
    });
  } catch (error) {
    return { kind: "missing", because: `python3 could not install ${what}: ${getErrorMessage(error)}` };
  }
  const program = join(folder, "bin/python");
  return {
    kind: "present",
    value: {
      module: (name) => ({ program, args: ["-m", name] }),
      // A script cannot run directly, because its first line names the temporary folder.
      script: (name) => ({ program, args: [join(folder, "bin", name)] }),
      file: (name) => join(folder, "bin", name),
    },
  };
}

const PIP_INSTALL = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
