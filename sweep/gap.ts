import type { ProblemCode } from "#core/node/problems.ts";
import type { ObjectReport } from "#core/report.ts";

/**
 * Why a node waits that is no matter of delivery: the function has had it, and what is missing is the node's own or its instance's.
 * That the cloud throttles, cannot be reached or denies is not among them.
 */
const OWN_REASONS: ReadonlySet<string> = new Set<ProblemCode>([
  "InstanceNotFound",
  "InstanceTerminated",
  "Foreign",
  "Ambiguous",
  "ForeignProviderID",
  "InvalidProviderID",
  "ProvidedNodeIPInvalid",
  "ProvidedNodeIPUnmatched",
  "NoNodeAddress",
]);

/** Whether an overdue object, by its report, would wait as well if it had been delivered in time. */
export function isExcused({ outcome, because }: Pick<ObjectReport, "outcome" | "because">): boolean {
  return outcome === "skipped" || (outcome === "retry" && OWN_REASONS.has(because.code));
}
