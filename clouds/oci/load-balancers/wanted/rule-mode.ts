import {
  annotationOf,
  type LoadBalancerKind,
  RULE_MODE,
  type Said,
} from "#clouds/oci/load-balancers/annotations/table.ts";
import type { LoadBalancerConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import type { Problem } from "#core/service/model.ts";

/** Where rules that let clients and the load balancer through are kept: in network security groups of ours, or by others. */
export type RuleMode = "NSG" | "None";

/** The mode of a Service, or why it cannot be served. */
export type ReadRuleMode =
  | { readonly kind: "read"; readonly mode: RuleMode }
  | { readonly kind: "refused"; readonly problem: Problem };

/**
 * Reads the mode: of the annotation for both kinds, else of the kind's own, else as configured for the cluster, else as in the stock
 * controller: `All` for the kind `lb`. Security lists belong to whole subnets, and are not edited.
 */
export function readRuleMode(
  kind: LoadBalancerKind,
  { securityRuleMode, securityListMode }: Said,
  { loadBalancer }: LoadBalancerConfiguration,
  annotations: Readonly<Record<string, string>> | undefined,
): ReadRuleMode {
  if (securityRuleMode !== undefined) return modeOf(securityRuleMode, RULE_MODE, annotations);
  const own = annotationOf(kind, "securityListMode");
  if (securityListMode !== undefined) return modeOf(securityListMode, own, annotations);
  const configured = loadBalancer?.securityListManagementMode;
  return modeOf(configured || (kind === "lb" ? "All" : "None"), RULE_MODE, annotations);
}

function modeOf(
  said: string,
  field: string,
  annotations: Readonly<Record<string, string>> | undefined,
): ReadRuleMode {
  const mode = said.toUpperCase();
  if (mode === "NONE") return { kind: "read", mode: "None" };
  if (mode === "NSG") return { kind: "read", mode: "NSG" };
  const detail = `the mode is ${said}; loadBalancer.securityListManagementMode of the cluster's cloud sets it for all Services`;
  const problem = { code: "SecurityLists", field, value: annotations?.[field], allowed: ALLOWED, detail };
  return { kind: "refused", problem };
}

const ALLOWED = `${RULE_MODE} as NSG or None`;
