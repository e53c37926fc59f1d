import { type ClustersFile, ClustersFileError } from "#config/clusters-file.ts";
import type { FollowHomeOptions } from "#config/home/home.ts";
import { keepMissing } from "#config/home/keep-missing.ts";
import { pause, systemClock } from "#kube/follow/clock.ts";

export interface FollowParametersOptions extends FollowHomeOptions {
  readonly read: (signal: AbortSignal) => Promise<ClustersFile>;
}

/** What an account may ask of SSM is shared by all that asks it. */
const INTERVAL_MS = 30_000;
/** A page is ten clusters: each makes the look rarer, so that a thousand are listed every 80 s and not every 30 s. */
const INTERVAL_OF_PAGE_MS = 800;
const PAGE = 10;
/** A cluster that is missing is looked for once more, so soon, before that counts. */
const CONFIRM_MS = 5_000;
/** Between two looks while they fail. */
const LONGEST_INTERVAL_MS = 5 * 60_000;

/**
 * Looks at parameters until the signal fires. What is new or changed counts at once; what is missing only where two lists in a row,
 * each read to its end, lack it. A look that failed changes nothing, and those that follow come less often.
 */
export async function followParameters(options: FollowParametersOptions): Promise<void> {
  const { signal, clock = systemClock, random = Math.random, intervalMs = INTERVAL_MS } = options;
  const missing = keepMissing();
  let said = "";
  let failures = 0;
  let pages = 1;
  let wake = new AbortController();
  const end = (): void => wake.abort();
  const unsubscribe = options.onReread?.(() => {
    said = "";
    wake.abort();
  });
  signal.addEventListener("abort", end);
  while (!signal.aborted) {
    wake = new AbortController();
    const soonerMs = await look();
    const usualMs = Math.max(intervalMs, pages * INTERVAL_OF_PAGE_MS);
    const waitMs = soonerMs ?? usualMs * 2 ** Math.min(failures, 10);
    // After the signal fired there is nobody any more who would end a pause.
    if (signal.aborted) break;
    await pause(clock, Math.min(LONGEST_INTERVAL_MS, waitMs) * (0.75 + random() / 2), wake.signal);
  }
  signal.removeEventListener("abort", end);
  unsubscribe?.();

  /** Milliseconds to the next look, where that is sooner than usual. */
  async function look(): Promise<number | undefined> {
    try {
      const read = await options.read(signal);
      if (signal.aborted) return undefined;
      failures = 0;
      pages = Math.ceil((read.clusters.length + read.faulty.length) / PAGE);
      const { content, isDoubted } = missing.take(read);
      const text = JSON.stringify(content);
      if (text !== said) options.onContent(content);
      said = text;
      return isDoubted ? Math.min(CONFIRM_MS, intervalMs) : undefined;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof ClustersFileError)) throw error;
      failures += 1;
      if (said !== error.message) options.onError(error);
      said = error.message;
      return undefined;
    }
  }
}
