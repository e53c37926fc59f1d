import { randomUUID } from "node:crypto";
import type { Stats } from "node:fs";
import { link, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { getSystemCode } from "#kube/client/errors.ts";

/** The lock of a file, which one process holds at a time. */
export interface FileLock {
  /**
   * Replaces the file atomically, so that a reader sees the old or the new content. Returns false, and nothing is
   * written, if this process lost the lock. One that takes longer than five seconds may lose it.
   */
  replace(replacement: Replacement): Promise<boolean>;
  unlock(): Promise<void>;
}

/** The new content of a file. */
export interface Replacement {
  readonly text: string;
  /** Mode and owner. Default: readable by all, and this process's. */
  readonly like?: Pick<Stats, "mode" | "uid" | "gid">;
  /** Asked right before; with false nothing is written. */
  readonly isWanted?: () => Promise<boolean>;
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
    replace: (replacement) => replaceFile(file, replacement, isHeld),
    async unlock() {
      if (await isHeld()) await rm(path, { force: true });
    },
  };
};

async function replaceFile(
  file: string,
  { text, like, isWanted = async () => true }: Replacement,
  isHeld: () => Promise<boolean>,
): Promise<boolean> {
  const temporary = join(dirname(file), `.${basename(file)}.${randomUUID()}.tmp`);
  const mode = like === undefined ? 0o644 : like.mode & 0o777;
  try {
    const handle = await open(temporary, "wx", mode);
    try {
      if (like !== undefined) {
        await handle.chmod(mode);
        const own = await handle.stat();
        if (own.uid !== like.uid || own.gid !== like.gid) await handle.chown(like.uid, like.gid);
      }
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const isReplaced = (await isWanted()) && (await isHeld());
    if (isReplaced) await rename(temporary, file);
    return isReplaced;
  } finally {
    await rm(temporary, { force: true });
  }
}

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
