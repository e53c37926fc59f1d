import type { FollowedCluster } from "#relay/followed-cluster.ts";

/** Tells how clusters fare, as it changes. */
export interface StatusChanges {
  /** Looks now. */
  look(): void;
  stop(): void;
}

/** Probes are answered from what was told last. */
const EVERY_MS = 250;

/** Looks a few times a second, and tells of those clusters whose status is another one than before. */
export function tellStatus(
  read: () => readonly FollowedCluster[],
  tell: (changed: readonly FollowedCluster[], gone: readonly string[]) => void,
  everyMs = EVERY_MS,
): StatusChanges {
  let told = new Map<string, string>();

  function look(): void {
    const now = new Map<string, string>();
    const changed: FollowedCluster[] = [];
    for (const status of read()) {
      const text = JSON.stringify(status);
      now.set(status.name, text);
      if (told.get(status.name) !== text) changed.push(status);
    }
    const gone = [...told.keys()].filter((name) => !now.has(name));
    told = now;
    if (changed.length > 0 || gone.length > 0) tell(changed, gone);
  }

  const timer = setInterval(look, everyMs).unref();
  return { look, stop: () => clearInterval(timer) };
}
