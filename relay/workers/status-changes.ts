import type { FollowedCluster } from "#relay/followed-cluster.ts";

/** Reports changes of the clusters' status. */
export interface StatusChanges {
  /** Checks now. */
  look(): void;
  stop(): void;
}

/** Probes are answered from the last report. */
const EVERY_MS = 250;

/** Checks a few times a second, and reports clusters whose status has changed. */
export function tellStatus(
  read: () => readonly FollowedCluster[],
  tell: (changed: readonly FollowedCluster[], gone: readonly string[]) => void,
  everyMs = EVERY_MS,
): StatusChanges {
  let reported = new Map<string, string>();

  function look(): void {
    const now = new Map<string, string>();
    const changed: FollowedCluster[] = [];
    for (const status of read()) {
      const text = JSON.stringify(status);
      now.set(status.name, text);
      if (reported.get(status.name) !== text) changed.push(status);
    }
    const gone = [...reported.keys()].filter((name) => !now.has(name));
    reported = now;
    if (changed.length > 0 || gone.length > 0) tell(changed, gone);
  }

  const timer = setInterval(look, everyMs).unref();
  return { look, stop: () => clearInterval(timer) };
}
