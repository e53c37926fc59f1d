import { open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileTrouble, readSmallFile } from "#config/read-small-file.ts";
import { editedStops } from "#config/switch/edited.ts";
import { StopSwitchError } from "#config/switch/error.ts";
import { parseStops, type StopEntry, textOfStops } from "#config/switch/stops.ts";
import type { StopSwitch } from "#config/switch/switch.ts";
import { systemCode } from "#kube/client/errors.ts";

const MAX_BYTES = 2 * 1024 * 1024;

/** Whoever changes the file has it alone for a moment; a lock that is older was left behind. */
const LOCK_MS = 5_000;
const LOCK_LOOK_MS = 20;

/** A file of JSON as the switch. Where there is no file nothing is stopped; where its folder is missing nobody can tell. */
export function fileSwitch(file: string): StopSwitch {
  async function read(): Promise<readonly StopEntry[]> {
    try {
      return parseStops(file, await readSmallFile(file, MAX_BYTES));
    } catch (error) {
      if (error instanceof StopSwitchError) throw error;
      if (systemCode(error) === "ENOENT" && (await isFolder(dirname(file)))) return [];
      throw new StopSwitchError("Unreadable", file, fileTrouble(error), { cause: error });
    }
  }

  return {
    name: file,
    read,
    async change(change, signal) {
      const unlock = await lock(file, signal);
      try {
        const edited = await editedStops(change, read);
        if (edited !== undefined) await replace(file, textOfStops(edited));
      } catch (error) {
        if (error instanceof StopSwitchError) throw error;
        throw new StopSwitchError("NotWritten", file, `cannot be written (${systemCode(error)})`, {
          cause: error,
        });
      } finally {
        await unlock();
      }
    },
  };
}

/** Whole or not at all: whoever reads sees the one or the other. */
async function replace(file: string, text: string): Promise<void> {
  const temporary = join(dirname(file), `.${basename(file)}.${process.pid}.tmp`);
  try {
    const handle = await open(temporary, "w", 0o644);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function lock(file: string, signal: AbortSignal): Promise<() => Promise<void>> {
  const path = `${file}.lock`;
  const untilMs = performance.now() + 2 * LOCK_MS;
  for (;;) {
    try {
      await (await open(path, "wx", 0o600)).close();
      return () => rm(path, { force: true });
    } catch (error) {
      if (systemCode(error) !== "EEXIST")
        throw new StopSwitchError("NotWritten", file, `cannot be written (${systemCode(error)})`, {
          cause: error,
        });
    }
    if (signal.aborted || performance.now() > untilMs)
      throw new StopSwitchError(
        "Contended",
        file,
        `is being changed by somebody else; try again, or remove ${path}`,
      );
    const age = await stat(path)
      .then(({ mtimeMs }) => Date.now() - mtimeMs)
      .catch(() => 0);
    if (age > LOCK_MS) await rm(path, { force: true });
    else await delay(LOCK_LOOK_MS);
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
