import { stat } from "node:fs/promises";
import type { Cluster, Clusters } from "#config/cluster.ts";
import {
  type ClustersFile,
  ClustersFileError,
  MAX_CLUSTERS_FILE_BYTES,
  parseClustersFile,
  tooLarge,
} from "#config/clusters-file.ts";
import { fileTrouble, readSmallFile } from "#config/read-small-file.ts";
import { systemCode } from "#kube/client/errors.ts";

/** A file's clusters, as they stand in it now; rejects with `ClustersFileError` where it is no list of entries. */
export async function readClusters(file: string): Promise<ClustersFile> {
  return parseClustersFile(await readClustersText(file), file);
}

/** The clusters of a file by name, and all that can be used. */
export type ClustersOfFile = Clusters & {
  readonly all: () => Promise<readonly Cluster[]>;
  /** The same with the entries that cannot be used. */
  readonly content: () => Promise<ClustersFile>;
};

/**
 * Clusters out of a file, which is read again when it changes. Rejects with `ClustersFileError` where the file, or the
 * entry that was asked for, is faulty: what became faulty is not covered up with what stood there before.
 */
export function readClustersFile(file: string): ClustersOfFile {
  let known: { readonly version: string; readonly content: ClustersFile } | undefined;
  const read = async (isFresh: boolean): Promise<ClustersFile> => {
    const version = await fileVersion(file);
    if (known === undefined || known.version !== version || isFresh) {
      known = { version, content: await readClusters(file) };
    }
    return known.content;
  };
  const byName: Clusters = async (name, options) => {
    const { clusters, faulty } = await read(options?.fresh === true);
    const faults = faulty.filter((entry) => entry.name === name).flatMap((entry) => entry.faults);
    if (faults.length > 0) throw new ClustersFileError("Invalid", file, faults);
    return clusters.find((cluster) => cluster.name === name);
  };
  const content = (): Promise<ClustersFile> => read(false);
  return Object.assign(byName, { all: async () => (await content()).clusters, content });
}

/**
 * Tells one state of a file from another; a mounted ConfigMap is swapped, so the file's identity counts too. Rejects with
 * `ClustersFileError` where there is no such file.
 */
export async function fileVersion(file: string): Promise<string> {
  try {
    const { mtimeMs, ctimeMs, size, ino } = await stat(file);
    return `${mtimeMs} ${ctimeMs} ${size} ${ino}`;
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** A file's text as it stands there now; rejects with `ClustersFileError` where it cannot be read. */
export async function readClustersText(file: string): Promise<string> {
  try {
    return await readSmallFile(file, MAX_CLUSTERS_FILE_BYTES);
  } catch (error) {
    throw systemCode(error) === "EFBIG" ? tooLarge(file) : unreadable(file, error);
  }
}

function unreadable(file: string, cause: unknown): ClustersFileError {
  const message = `${fileTrouble(cause)}; see --clusters-file and CLUSTERS_FILE`;
  return new ClustersFileError("Unreadable", file, [{ path: "", message }], cause);
}
