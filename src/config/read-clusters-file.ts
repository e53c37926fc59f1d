import { stat } from "node:fs/promises";
import type { Cluster, Clusters } from "#config/cluster.ts";
import {
  type ClustersFile,
  ClustersFileError,
  createTooLargeError,
  MAX_CLUSTERS_FILE_BYTES,
  parseClustersFile,
} from "#config/clusters-file.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import { getSystemCode } from "#kube/client/errors.ts";

/**
 * Reads the current clusters of a file; rejects with `ClustersFileError` if the file is not a list of
 * entries.
 */
export async function readClusters(file: string): Promise<ClustersFile> {
  return parseClustersFile(await readClustersText(file), file);
}

/** The clusters of a file by name, and all usable ones. */
export type FileClusters = Clusters & {
  readonly all: () => Promise<readonly Cluster[]>;
  /** All clusters, with the faulty entries. */
  readonly content: () => Promise<ClustersFile>;
};

/**
 * Returns the clusters of a file, which it rereads on change. Rejects with `ClustersFileError` if the file or
 * the requested entry is faulty; it never falls back to the previous content.
 */
export function readClustersFile(file: string): FileClusters {
  let known: { readonly version: string; readonly content: ClustersFile } | undefined;
  const read = async (isFresh: boolean): Promise<ClustersFile> => {
    const version = await getFileVersion(file);
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
 * Returns a version that identifies one state of a file. It includes the file's identity, because a mounted
 * ConfigMap is swapped. Rejects with `ClustersFileError` if the file is not found.
 */
export async function getFileVersion(file: string): Promise<string> {
  try {
    const { mtimeMs, ctimeMs, size, ino } = await stat(file);
    return `${mtimeMs} ${ctimeMs} ${size} ${ino}`;
  } catch (error) {
    throw createUnreadableError(file, error);
  }
}

/** Reads the current text of a file; rejects with `ClustersFileError` if that fails. */
export async function readClustersText(file: string): Promise<string> {
  try {
    return await readSmallFile(file, MAX_CLUSTERS_FILE_BYTES);
  } catch (error) {
    throw getSystemCode(error) === "EFBIG" ? createTooLargeError(file) : createUnreadableError(file, error);
  }
}

function createUnreadableError(file: string, cause: unknown): ClustersFileError {
  const message = `${describeFileError(cause)}; see --clusters-file and CLUSTERS_FILE`;
  return new ClustersFileError("Unreadable", file, [{ path: "", message }], cause);
}
