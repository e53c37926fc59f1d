import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "#core/message-of.ts";
import { findProgram } from "#test/setup/find-program.ts";
import { cacheFolder, makeOnce } from "#test/setup/make-once.ts";
import type { Part } from "#test/setup/parts.ts";
import { runProgram } from "#test/setup/run-program.ts";

/** What to run, before its own flags. */
export interface Program {
  readonly program: string;
  readonly args: readonly string[];
}

/** Programs of Python packages. */
export interface VirtualEnvironment {
  /** What `python -m MODULE` runs. */
  module(name: string): Program;
  /** A program in the environment's bin. */
  script(name: string): Program;
  /** A file in the environment's bin that is no script of Python's. */
  file(name: string): string;
}

/**
 * Installs packages into a virtual environment of their own, once for each content of the file of requirements, which lies
 * beside this one; they come from PyPI. `what` names them to people and in the cache.
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
  const folder = join(cacheFolder(), what, hash);
  try {
    await makeOnce(folder, async (temporary) => {
      say(`installing ${what} into a virtual environment, once …`);
      await runProgram(python, ["-m", "venv", temporary]);
      await runProgram(join(temporary, "bin/python"), [...PIP_INSTALL, "--requirement", requirements]);
    });
  } catch (error) {
    return { kind: "missing", because: `python3 could not install ${what}: ${messageOf(error)}` };
  }
  const program = join(folder, "bin/python");
  return {
    kind: "present",
    value: {
      module: (name) => ({ program, args: ["-m", name] }),
      // Not by itself: its first line names the folder as it was while it was made.
      script: (name) => ({ program, args: [join(folder, "bin", name)] }),
      file: (name) => join(folder, "bin", name),
    },
  };
}

const PIP_INSTALL = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
