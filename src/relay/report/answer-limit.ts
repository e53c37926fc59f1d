import type { Report } from "#core/report.ts";
import type { LimitInForce } from "#kube/client/errors.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { Delivery } from "#relay/delivery/deliver.ts";
import type { AnswerLimitNote, Recovery } from "#relay/report/relay-note.ts";

/** Tracks from reports whether a cluster's answers to its functions exceed what they read. */
export interface AnswerLimit {
  /** Takes a delivery about `resource` and returns what it changed. */
  after(delivery: Delivery, resource: string): AnswerLimitNote | Recovery | undefined;
  /** Returns the limits in force. */
  limited(): readonly LimitInForce[];
  /** Ends all notes. */
  close(): void;
}

/** The code of an affected object in a report. */
const LIMITED = "ClusterLimited";

/**
 * The limit ends after this long without an affected object, because such an object is due again after half
 * of it.
 */
const PASSES_AFTER_MS = 60_000;

/**
 * Creates the tracker. The limit is in force from a report with an affected object until one whose writes
 * were answered normally. Without such a report it ends a minute after the last affected object, and `note`
 * is called.
 */
export function createAnswerLimit(clock: Clock, note: (note: Recovery) => void): AnswerLimit {
  let inForce: (LimitInForce & { readonly sinceMs: number }) | undefined;
  let cancelTimer: () => void = () => {};

  function begin(message: string, resource: string): AnswerLimitNote {
    const limit = { limit: "answerBytes", message } as const;
    inForce = { ...limit, sinceMs: inForce?.sinceMs ?? clock.now() };
    cancelTimer();
    cancelTimer = clock.after(PASSES_AFTER_MS, () => {
      const recovered = end(resource);
      if (recovered !== undefined) note(recovered);
    });
    return { kind: "answer-limited", ...limit };
  }

  function end(resource: string): Recovery | undefined {
    if (inForce === undefined) return undefined;
    const { limit, sinceMs } = inForce;
    inForce = undefined;
    cancelTimer();
    return { kind: "recovered", resource, limit, durationMs: clock.now() - sinceMs };
  }

  return {
    after({ invocation }, resource) {
      if (invocation.kind === "failed") return undefined;
      const message = findLimitMessage(invocation.report);
      if (message !== undefined) return begin(message, resource);
      return hasWritten(invocation.report) ? end(resource) : undefined;
    },
    limited: () => (inForce === undefined ? [] : [{ limit: inForce.limit, message: inForce.message }]),
    close: () => cancelTimer(),
  };
}

function findLimitMessage({ objects }: Report): string | undefined {
  return objects.find(({ because }) => because.code === LIMITED)?.because.message;
}

function hasWritten({ objects }: Report): boolean {
  return objects.some(({ outcome }) => outcome === "changed");
}
