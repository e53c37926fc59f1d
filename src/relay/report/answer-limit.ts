import type { Report } from "#core/report.ts";
import type { LimitInForce } from "#kube/client/errors.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { Delivery } from "#relay/delivery/deliver.ts";
import type { AnswerLimitNote, Recovery } from "#relay/report/relay-note.ts";

/** Tracks whether the answers of a cluster's API server are larger than functions read. */
export interface AnswerLimit {
  /**
   * Evaluates a delivery of `resource`. Returns a note if the limit is in force or has just ended; undefined
   * otherwise.
   */
  after(delivery: Delivery, resource: string): AnswerLimitNote | Recovery | undefined;
  /** Returns the limits in force. */
  limited(): readonly LimitInForce[];
  /** Stops the tracker: neither `after` nor the timer reports anything afterwards. */
  close(): void;
}

/** The code of an affected object in a report. */
const LIMITED = "ClusterLimited";

/**
 * Twice the retry interval of an affected object (`UNREADABLE_WAIT_SECONDS` in `src/kube/apply/stop.ts`). If
 * none has returned by then, the limit has ended.
 */
const EXPIRY_MS = 60_000;

/**
 * Creates the tracker. The limit begins with a report that contains an affected object. It ends with a report
 * that contains none and a changed object, or a minute after the last affected object; then `note` is called.
 */
export function createAnswerLimit(clock: Clock, note: (note: Recovery) => void): AnswerLimit {
  let inForce: (LimitInForce & { readonly sinceMs: number }) | undefined;
  let isClosed = false;
  let cancelTimer: () => void = () => {};

  function begin(message: string, resource: string): AnswerLimitNote {
    const limit = { limit: "answerBytes", message } as const;
    inForce = { ...limit, sinceMs: inForce?.sinceMs ?? clock.now() };
    cancelTimer();
    cancelTimer = clock.after(EXPIRY_MS, () => {
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
      if (isClosed || invocation.kind === "failed") return undefined;
      const message = findLimitMessage(invocation.report);
      if (message !== undefined) return begin(message, resource);
      return hasWritten(invocation.report) ? end(resource) : undefined;
    },
    limited: () => (inForce === undefined ? [] : [{ limit: inForce.limit, message: inForce.message }]),
    close() {
      isClosed = true;
      cancelTimer();
    },
  };
}

function findLimitMessage({ objects }: Report): string | undefined {
  return objects.find(({ because }) => because.code === LIMITED)?.because.message;
}

function hasWritten({ objects }: Report): boolean {
  return objects.some(({ outcome }) => outcome === "changed");
}
