import { randomUUID } from "node:crypto";
import { link, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { getSystemCode } from "#kube/client/errors.ts";

/** The lock of a file, which one process holds at a time. */
export interface FileLock {
  /** Whether this process still holds it. A process that takes longer than five seconds may lose it. */
  isHeld(): Promise<boolean>;
  unlock(): Promise<void>;
}

/** Locks a file; see `lockFile`. */
export type LockFile = (file: string, signal?: AbortSignal) => Promise<FileLock | undefined>;

/** After this time a lock counts as left behind by a process that was killed. */
const LOCK_MS = 5_000;

const POLL_MS = 50;

/**
 * Locks a file by a second one beside it, `FILE.lock`. Undefined if others hold the lock for ten seconds, or until
 * the signal fires. Rejects with the system's error if the lock cannot be written.
 */
export const lockFile: LockFile = async (file, signal) => {
  const path = `${file}.lock`;
  const token = randomUUID();
  const untilMs = performance.now() + 2 * LOCK_MS;
  const isHeld = async (): Promise<boolean> => (await readToken(path)) === token;
  while (!(await create(path, token))) {
    if (signal?.aborted === true || performance.now() > untilMs) return undefined;
    if (!(await takeAway(path, token))) await sleep(POLL_MS);
  }
  return {
    isHeld,
    async unlock() {
      if (await isHeld()) await rm(path, { force: true });
    },
  };
};

/** The lock appears with its token, so that others never read it half. */
async function create(path: string, token: string): Promise<boolean> {
  const draft = `${path}.${token}.new`;
  try {
    await writeFile(draft, token, { flag: "wx", mode: 0o600 });
    await link(draft, path);
    return true;
  } catch (error) {
    if (getSystemCode(error) === "EEXIST") return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Takes a lock away that was left behind. Another process may have done so at the same time and hold a new lock: that
 * one is put back.
 */
async function takeAway(path: string, token: string): Promise<boolean> {
  const found = await readToken(path);
  const age = await stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  );
  if (age <= LOCK_MS) return false;
  const aside = `${path}.${token}.old`;
  try {
    await rename(path, aside);
    if ((await readToken(aside)) !== found) await link(aside, path);
    return true;
  } catch {
    return false;
  } finally {
    await rm(aside, { force: true });
  }
}

function readToken(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}
