import { OCI_ERROR_CODES } from "#clouds/oci/error-codes.ts";
import { kindOf } from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import { annotationOf } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { LoadBalancerAction, Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** What it means that OCI refused an action, by its own code; undefined where it is no matter of somebody's mending something. */
export function problemOf(
  { action }: LoadBalancerAction,
  { reason = "" }: { readonly reason: string | undefined },
  { metadata: { annotations } }: Service,
): Problem | undefined {
  if (QUOTA_CODES.has(reason)) return { code: "QuotaExceeded" };
  if (action.endsWith(":CreateRuleSet") || action.endsWith(":UpdateRuleSet")) {
    const field = annotationOf(kindOf(annotations), "ruleSets");
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
