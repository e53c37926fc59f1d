import { mkdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import { buildCommandLine, buildFunctions } from "../../build/build.ts";

/** As long as the slowest machine takes, with others at work on it. */
const LONGEST_MS = 240_000;

/** The folder with the functions as they are now, built once in a run of tests; nobody writes there. */
export function builtFunctions(): Promise<string> {
  return once("functions", buildFunctions);
}

/** The same with the command line. */
export function builtCommandLine(): Promise<string> {
  return once("command-line", buildCommandLine);
}

/** Test files are processes of their own: whoever needs it first makes it, and the others wait until it is there as a whole. */
async function once(name: string, build: (folder: string) => Promise<unknown>): Promise<string> {
  const made = join(inject("builds"), name);
  const making = `${made}.making`;
  const deadline = performance.now() + LONGEST_MS;
  while (!(await isThere(made))) {
    if (await isFirst(making)) {
      try {
        if (!(await isThere(made))) {
          await build(join(making, name));
          await rename(join(making, name), made);
        }
      } finally {
        await rm(making, { recursive: true, force: true });
      }
    } else if (performance.now() > deadline) {
      throw new Error(`waited ${LONGEST_MS} ms for another test file to build ${made}`);
    } else await sleep(100);
  }
  return made;
}

async function isFirst(folder: string): Promise<boolean> {
  return mkdir(folder).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST") return false;
      throw error;
    },
  );
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
