import { createAbortPatience } from "#kube/client/on-abort.ts";
import { createSemaphore } from "#kube/client/semaphore.ts";

/** An object's permit for cloud changes, which it acquires once and keeps to its end. */
export interface ChangePermit {
  /**
   * Resolves to whether the permit came at once or was already held, came after others changed the cloud, or
   * never comes because the time is up.
   */
  acquire(): Promise<"now" | "after others" | "never">;
  /** Ends the permit, whether it was granted or not. */
  release(): void;
}

/**
 * Creates the change permits of a batch, `most` at a time. The account's quotas then finish some objects
 * instead of leaving all half done, which would observe each of them again.
 */
export function createChangePermits(most: number, deadline: AbortSignal): () => ChangePermit {
  const semaphore = createSemaphore(() => most, Number.POSITIVE_INFINITY);
  let ended = 0;
  return () => {
    let hasCome = false;
    return {
      async acquire() {
        if (hasCome) return "now";
        const before = ended;
        if ((await semaphore.acquire(createAbortPatience(deadline))) !== "entered") return "never";
        hasCome = true;
        return ended === before ? "now" : "after others";
      },
      release() {
        if (!hasCome) return;
        hasCome = false;
        ended += 1;
        semaphore.release();
      },
    };
  };
}
