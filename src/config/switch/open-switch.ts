import { stat } from "node:fs/promises";
import { dirname, join, parse } from "node:path";
import { isFile } from "#config/clusters-file.ts";
import type { FileLock, LockFile } from "#config/file-lock.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import { parseSsmPath } from "#config/registry/ssm/ssm-registry.ts";
import { type ChangeParameters, createSsmSwitch } from "#config/switch/ssm.ts";
import { editStops } from "#config/switch/stop-lines.ts";
import {
  formatStops,
  parseStops,
  type StopEntry,
  type StopSwitch,
  StopSwitchError,
} from "#config/switch/stops.ts";
import { getSystemCode } from "#kube/client/errors.ts";

/**
 * What changes of a switch need. The caller brings it: functions, which only read, do not have it in their bundles.
 */
export interface SwitchChanges {
  readonly parameters: ChangeParameters;
  readonly lockFile: LockFile;
}

/**
 * Opens the switch that `--stop-switch` or STOP_SWITCH names: `ssm:/PATH/`, or a file. Without `changes` it is
 * read-only. An invalid reference gives an unreadable switch, so that the error is reported like any other.
 */
export function openSwitch(reference: string, changes?: SwitchChanges): StopSwitch {
  if (isFile(reference)) return createFileSwitch(reference, changes?.lockFile);
  const path = parseSsmPath(reference);
  if (path !== undefined) return createSsmSwitch(path, { change: changes?.parameters });
  return createUnreadableSwitch(reference);
}

/**
 * Returns the default switch for a registry: `clusters.stop.json`, `ssm:/PATH-stop/`, or the same management
 * cluster.
 */
export function getDefaultSwitch(clusters: string): string {
  if (isFile(clusters)) return join(dirname(clusters), `${parse(clusters).name}.stop.json`);
  const path = parseSsmPath(clusters);
  return path === undefined ? clusters : `ssm:${path.slice(0, -1)}-stop/`;
}

function createUnreadableSwitch(reference: string): StopSwitch {
  const message = reference.startsWith("ssm:")
    ? "is not a path of parameters; write it as ssm:/serverless-ccm/clusters-stop/, and not under /aws or /ssm"
    : "cannot be read here: a management cluster is read by the relay and the command line";
  const reject = (): Promise<never> => Promise.reject(new StopSwitchError("Unreadable", reference, message));
  return { name: reference, read: reject, change: reject };
}

const MAX_BYTES = 2 * 1024 * 1024;

/**
 * Creates a stop switch from a JSON file. If the file is missing, nothing is stopped; if its folder is
 * missing, the state is unknown.
 */
export function createFileSwitch(file: string, lockFile?: LockFile): StopSwitch {
  async function read(): Promise<readonly StopEntry[]> {
    try {
      return parseStops(file, await readSmallFile(file, MAX_BYTES));
    } catch (error) {
      if (error instanceof StopSwitchError) throw error;
      if (getSystemCode(error) === "ENOENT" && (await isFolder(dirname(file)))) return [];
      throw new StopSwitchError("Unreadable", file, describeFileError(error), { cause: error });
    }
  }

  return {
    name: file,
    read,
    async change(change, signal) {
      if (lockFile === undefined) throw new StopSwitchError("NotWritten", file, "can only be read here");
      const held = await lock(file, lockFile, signal);
      try {
        const edited = await editStops(change, read);
        if (edited !== undefined && !(await held.replace({ text: formatStops(edited) })))
          throw new StopSwitchError("Contended", file, "was changed by another process meanwhile; try again");
      } catch (error) {
        if (error instanceof StopSwitchError) throw error;
        throw new StopSwitchError("NotWritten", file, `cannot be written (${getSystemCode(error)})`, {
          cause: error,
        });
      } finally {
        await held.unlock();
      }
    },
  };
}

async function lock(file: string, lockFile: LockFile, signal: AbortSignal): Promise<FileLock> {
  const held = await lockFile(file, signal).catch((error) => {
    throw new StopSwitchError("NotWritten", file, `cannot be written (${getSystemCode(error)})`, {
      cause: error,
    });
  });
  if (held !== undefined) return held;
  const message = `is being changed by another process; try again, or remove ${file}.lock`;
  throw new StopSwitchError("Contended", file, message);
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
