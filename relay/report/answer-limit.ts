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
}

/** The code by which a report says so of an object. */
const LIMITED = "ClusterLimited";

/** In force from a report with such an object until one whose writes were answered as they should be. */
export function createAnswerLimit(clock: Clock): AnswerLimit {
  let inForce: (LimitInForce & { readonly sinceMs: number }) | undefined;

  function begin(message: string): AnswerLimitNote {
    const limit = { limit: "answerBytes", message } as const;
    inForce = { ...limit, sinceMs: inForce?.sinceMs ?? clock.now() };
    return { kind: "answer-limited", ...limit };
  }

  return {
    after({ invocation }, resource) {
      if (invocation.kind === "failed") return undefined;
      const message = limitedIn(invocation.report);
      if (message !== undefined) return begin(message);
      if (inForce === undefined || !hasWritten(invocation.report)) return undefined;
      const { limit, sinceMs } = inForce;
      inForce = undefined;
      return { kind: "recovered", resource, limit, durationMs: clock.now() - sinceMs };
    },
    limited: () => (inForce === undefined ? [] : [{ limit: inForce.limit, message: inForce.message }]),
  };
}

function limitedIn({ objects }: Report): string | undefined {
  return objects.find(({ because }) => because.code === LIMITED)?.because.message;
}

function hasWritten({ objects }: Report): boolean {
  return objects.some(({ outcome }) => outcome === "changed");
}
