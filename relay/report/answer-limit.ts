import type { Report } from "#core/report.ts";
import type { LimitInForce } from "#kube/client/limit-name.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { Delivery } from "#relay/delivery/deliver.ts";
import type { Recovered } from "#relay/report/troubles.ts";

/** What reports have to tell of the answers that functions get from a cluster's API server. */
export type AnswerLimitNote = { readonly kind: "answer-limited" } & LimitInForce;

/** Whether the answers of one cluster to its functions are beyond what they read, by what their reports say. */
export interface AnswerLimit {
  /** Answers with what has changed with the delivery; `resource` is what it was about. */
  after(delivery: Delivery, resource: string): AnswerLimitNote | Recovered | undefined;
  /** What is in force now. */
  limited(): readonly LimitInForce[];
  /** Nothing is told any more. */
  close(): void;
}

/** The code by which a report says so of an object. */
const LIMITED = "ClusterLimited";

/** Such objects are due again after half of it: whoever is not heard of for so long has none any more. */
const PASSES_AFTER_MS = 60_000;

/**
 * In force from a report with such an object until one whose writes were answered as they should be, or until there was none such for a
 * minute: then `note` is called.
 */
export function createAnswerLimit(clock: Clock, note: (note: Recovered) => void): AnswerLimit {
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

  function end(resource: string): Recovered | undefined {
    if (inForce === undefined) return undefined;
    const { limit, sinceMs } = inForce;
    inForce = undefined;
    cancelTimer();
    return { kind: "recovered", resource, limit, durationMs: clock.now() - sinceMs };
  }

  return {
    after({ invocation }, resource) {
      if (invocation.kind === "failed") return undefined;
      const message = limitedIn(invocation.report);
      if (message !== undefined) return begin(message, resource);
      return hasWritten(invocation.report) ? end(resource) : undefined;
    },
    limited: () => (inForce === undefined ? [] : [{ limit: inForce.limit, message: inForce.message }]),
    close: () => cancelTimer(),
  };
}

function limitedIn({ objects }: Report): string | undefined {
  return objects.find(({ because }) => because.code === LIMITED)?.because.message;
}

function hasWritten({ objects }: Report): boolean {
  return objects.some(({ outcome }) => outcome === "changed");
}
