import { ClustersFileError } from "#config/clusters-file.ts";
import type { FollowHomeOptions } from "#config/home/home.ts";
import { fileVersion, readClusters } from "#config/read-clusters-file.ts";
import { pause, systemClock } from "#kube/follow/clock.ts";

export interface FollowClustersFileOptions extends FollowHomeOptions {
  readonly file: string;
}

/** Looking costs one `stat`. */
const INTERVAL_MS = 1_000;

/**
 * Looks at a clusters file until the signal fires. By its state rather than by the system's notifications, which network
 * file systems do not send and which a swapped ConfigMap sends for another file. A state counts when it was seen twice:
 * half of a file that is being written is a list with fewer clusters. Whoever asks for a file has written it to its end.
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
    const version = await versionOf(file);
    if ((isDue || (version === seen && version !== taken)) && (await take(version, options))) taken = version;
    seen = version;
    await pause(clock, intervalMs * (0.75 + random() / 2), wake.signal);
  }
  signal.removeEventListener("abort", end);
  unsubscribe?.();
}

/** Whether what was read is what stood in the file in that state. */
async function take(version: string, options: FollowClustersFileOptions): Promise<boolean> {
  const content = await readClusters(options.file).catch(errorOfFile);
  if (options.signal.aborted || (await versionOf(options.file)) !== version) return false;
  if (content instanceof ClustersFileError) options.onError(content);
  else options.onContent(content);
  return true;
}

function versionOf(file: string): Promise<string> {
  return fileVersion(file).catch((error: unknown) => errorOfFile(error).message);
}

function errorOfFile(error: unknown): ClustersFileError {
  if (error instanceof ClustersFileError) return error;
  throw error;
}
