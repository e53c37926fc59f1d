import { untilAborted } from "#kube/client/on-abort.ts";
import { createSlots } from "#kube/client/slots.ts";

/** An object's turn to have the cloud changed for its sake, which it has once and keeps to its end. */
export interface Turn {
  /** Whether it has come at once, or before already, whether others had theirs meanwhile, or whether there is no time left. */
  come(): Promise<"now" | "after others" | "never">;
  /** It is over, whether it has come or not. */
  end(): void;
}

/**
 * Makes the turns of a batch's objects, `most` of them at a time: an account's quotas are spent on bringing some to their end, rather
 * than all to the middle, where each that has to come back is looked at anew.
 */
export function createTurns(most: number, deadline: AbortSignal): () => Turn {
  const slots = createSlots(() => most, Number.POSITIVE_INFINITY);
  let ended = 0;
  return () => {
    let hasCome = false;
    return {
      async come() {
        if (hasCome) return "now";
        const before = ended;
        if ((await slots.enter(untilAborted(deadline))) !== "entered") return "never";
        hasCome = true;
        return ended === before ? "now" : "after others";
      },
      end() {
        if (!hasCome) return;
        hasCome = false;
        ended += 1;
        slots.leave();
      },
    };
  };
}
