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
import type { FollowRegistryOptions } from "#config/registry/registry.ts";
import { getSystemCode } from "#kube/client/errors.ts";
import { pause, systemClock } from "#kube/follow/clock.ts";

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

export interface FollowClustersFileOptions extends FollowRegistryOptions {
  readonly file: string;
}

/** A check costs one `stat`. */
const INTERVAL_MS = 1_000;

/**
 * Follows a clusters file until the signal fires. It polls the file's state: network file systems send no
 * notifications, and a swapped ConfigMap sends them for another file. A state counts once two polls have seen
 * it, because a half-written file is a list with fewer clusters. A requested reread counts at once.
 */
export async function followClustersFile(options: FollowClustersFileOptions): Promise<void> {
  const { file, signal, clock = systemClock, random = Math.random, intervalMs = INTERVAL_MS } = options;
  let taken: string | undefined;
  let seen: string | undefined;
  let isAsked = false;
  let wake = new AbortController();
  const end = (): void => wake.abort();
  const unsubscribe = options.onReread?.(() => {
    isAsked = true;
    wake.abort();
  });
  signal.addEventListener("abort", end);
  while (!signal.aborted) {
    wake = new AbortController();
    const isDue = isAsked;
    isAsked = false;
    const version = await readFileVersion(file);
    if ((isDue || (version === seen && version !== taken)) && (await take(version, options))) taken = version;
    seen = version;
    await pause(clock, intervalMs * (0.75 + random() / 2), wake.signal);
  }
  signal.removeEventListener("abort", end);
  unsubscribe?.();
}

/** Takes the content only if it belongs to that state of the file. */
async function take(version: string, options: FollowClustersFileOptions): Promise<boolean> {
  const content = await readClusters(options.file).catch(toFileError);
  if (options.signal.aborted || (await readFileVersion(options.file)) !== version) return false;
  if (content instanceof ClustersFileError) options.onError(content);
  else options.onContent(content);
  return true;
}

function readFileVersion(file: string): Promise<string> {
  return getFileVersion(file).catch((error: unknown) => toFileError(error).message);
}

function toFileError(error: unknown): ClustersFileError {
  if (error instanceof ClustersFileError) return error;
  throw error;
}
