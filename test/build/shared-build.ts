import { mkdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import { buildCommandLine, buildFunctions } from "../../build/build.ts";

/** The longest time on a slow machine with other load. */
const LONGEST_MS = 240_000;

/** Returns the folder with the current functions, built once in a test run. It is read-only. */
export function getBuiltFunctions(): Promise<string> {
  return once("functions", buildFunctions);
}

/** Returns the folder with the current command line, built once in a test run. It is read-only. */
export function getBuiltCommandLine(): Promise<string> {
  return once("command-line", buildCommandLine);
}

/**
 * Test files run in separate processes: the first one builds, and the others wait until the build is
 * complete.
 */
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
