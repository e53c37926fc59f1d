import { OCI_ERROR_CODES } from "#clouds/oci/error-codes.ts";
import { getLoadBalancerKind } from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import { findAnnotation } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Returns what a rejection of an action means for a user, by OCI's own code; undefined if no user can fix it.
 */
export function toIssue(
  { action }: LoadBalancerAction,
  { reason = "" }: { readonly reason: string | undefined },
  { metadata: { annotations } }: Service,
): Issue | undefined {
  if (QUOTA_CODES.has(reason)) return { code: "QuotaExceeded" };
  if (action.endsWith(":CreateRuleSet") || action.endsWith(":UpdateRuleSet")) {
    const field = findAnnotation(getLoadBalancerKind(annotations), "ruleSets");
    return reason === "InvalidParameter"
      ? {
          code: "InvalidAnnotation",
          field,
          value: annotations?.[field],
          allowed: "rule sets that the API takes",
        }
      : undefined;
  }
  return undefined;
}

const QUOTA_CODES: ReadonlySet<string> = OCI_ERROR_CODES.Quota;
