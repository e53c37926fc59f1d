import type { IssueCode } from "#core/node/issues.ts";
import type { ObjectReport } from "#core/report.ts";
import { IN_PROGRESS, ISSUES, LIMIT_REACHED } from "#core/service/issues.ts";

const OF_NODES: readonly IssueCode[] = [
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
const OF_SERVICES: readonly string[] = [...Object.keys(ISSUES), IN_PROGRESS, LIMIT_REACHED];

/**
 * Reasons that are not a delivery problem: the function processed the object, and the cause is the object,
 * its instance or its load balancer. Throttling, an unreachable cloud or a denied request are not among them.
 */
const OWN_REASONS: ReadonlySet<string> = new Set([...OF_NODES, ...OF_SERVICES]);

/** Whether a reported overdue object would also wait after a timely delivery. */
export function isExcused({ outcome, because }: Pick<ObjectReport, "outcome" | "because">): boolean {
  return outcome === "skipped" || (outcome === "retry" && OWN_REASONS.has(because.code));
}
