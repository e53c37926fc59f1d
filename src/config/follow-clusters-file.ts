import { ClustersFileError } from "#config/clusters-file.ts";
import { getFileVersion, readClusters } from "#config/read-clusters-file.ts";
import type { FollowRegistryOptions } from "#config/registry/registry.ts";
import { pause, systemClock } from "#kube/follow/clock.ts";

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
