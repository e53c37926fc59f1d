import { access, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Returns the cache for what takes minutes to make: `serverless-ccm` in the user's cache folder. */
export function getCacheFolder(): string {
  return join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "serverless-ccm");
}

/**
 * Creates `folder` by `make` unless it exists. It appears complete or not at all; of two simultaneous runs
 * one makes it and the other waits. `make` gets an existing temporary folder next to it, and may rely on the
 * final name.
 */
export async function makeOnce(folder: string, make: (temporary: string) => Promise<void>): Promise<void> {
  if (await exists(folder)) return;
  await mkdir(dirname(folder), { recursive: true });
  const release = await lock(`${folder}.lock`);
  try {
    if (await exists(folder)) return;
    const temporary = `${folder}.${process.pid}`;
    try {
      await mkdir(temporary, { recursive: true });
      await make(temporary);
      await rename(temporary, folder).catch(async (error) => {
        // Two runs took over the same abandoned lock, and the other one finished first.
        if (!(await exists(folder))) throw error;
      });
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  } finally {
    await release();
  }
}

/** Longer than a cold build of the control plane takes on one slow core. */
const LOCK_TIMEOUT_MS = 30 * 60_000;
const LOCK_LOOK_MS = 500;

/** Takes a lock file that names its owner; takes over the lock of a dead owner. */
async function lock(file: string): Promise<() => Promise<void>> {
  const deadline = performance.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    try {
      const handle = await open(file, "wx");
      await handle.writeFile(String(process.pid));
      await handle.close();
      return () => rm(file, { force: true });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
    if (await isAbandoned(file)) await rm(file, { force: true });
    else await sleep(LOCK_LOOK_MS);
    if (performance.now() > deadline)
      throw new Error(`${file} is held by another run; remove it if none runs`);
  }
}

async function isAbandoned(file: string): Promise<boolean> {
  const owner = Number(await readFile(file, "utf8").catch(() => ""));
  // Empty between its creation and the write of its owner.
  if (!Number.isInteger(owner) || owner <= 0) return false;
  try {
    process.kill(owner, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
