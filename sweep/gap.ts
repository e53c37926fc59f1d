import type { ProblemCode } from "#core/node/problems.ts";
import type { ObjectReport } from "#core/report.ts";
import { IN_PROGRESS, LIMIT_REACHED, PROBLEMS } from "#core/service/problems.ts";

const OF_NODES: readonly ProblemCode[] = [
  "InstanceNotFound",
  "InstanceTerminated",
  "Foreign",
  "Ambiguous",
  "ForeignProviderID",
  "InvalidProviderID",
  "InvalidAddress",
  "ProvidedNodeIPInvalid",
  "ProvidedNodeIPUnmatched",
  "NoNodeAddress",
];
const OF_SERVICES: readonly string[] = [...Object.keys(PROBLEMS), IN_PROGRESS, LIMIT_REACHED];

/**
 * Why an object waits that is no matter of delivery: the function has had it, and what is missing is its own, its instance's or its
 * load balancer's. That the cloud throttles, cannot be reached or denies is not among them.
 */
const OWN_REASONS: ReadonlySet<string> = new Set([...OF_NODES, ...OF_SERVICES]);

/** Whether an overdue object, by its report, would wait as well if it had been delivered in time. */
export function isExcused({ outcome, because }: Pick<ObjectReport, "outcome" | "because">): boolean {
  return outcome === "skipped" || (outcome === "retry" && OWN_REASONS.has(because.code));
}
