import {
  type AnnotationSettings,
  findAnnotation,
  type LoadBalancerKind,
  RULE_MODE,
} from "#clouds/oci/load-balancers/annotations/table.ts";
import type { LoadBalancerConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import type { Issue } from "#core/service/model.ts";

/**
 * Where rules for clients and the load balancer are managed: in our network security groups, or by others.
 */
export type RuleMode = "NSG" | "None";

/** The mode of a Service, or why it cannot be served. */
export type RuleModeResult =
  | { readonly kind: "read"; readonly mode: RuleMode }
  | { readonly kind: "refused"; readonly issue: Issue };

/**
 * Reads the mode: from the annotation for both types, else from the type's own, else from the cluster's
 * configuration, else `All` for the type `lb` as in the stock controller. Security lists belong to whole
 * subnets and are not changed.
 */
export function readRuleMode(
  kind: LoadBalancerKind,
  { securityRuleMode, securityListMode }: AnnotationSettings,
  { loadBalancer }: LoadBalancerConfiguration,
  annotations: Readonly<Record<string, string>> | undefined,
): RuleModeResult {
  if (securityRuleMode !== undefined) return parseRuleMode(securityRuleMode, RULE_MODE, annotations);
  const field = findAnnotation(kind, "securityListMode");
  if (securityListMode !== undefined) return parseRuleMode(securityListMode, field, annotations);
  const configured = loadBalancer?.securityListManagementMode;
  return parseRuleMode(configured || (kind === "lb" ? "All" : "None"), RULE_MODE, annotations);
}

function parseRuleMode(
  value: string,
  field: string,
  annotations: Readonly<Record<string, string>> | undefined,
): RuleModeResult {
  const mode = value.toUpperCase();
  if (mode === "NONE") return { kind: "read", mode: "None" };
  if (mode === "NSG") return { kind: "read", mode: "NSG" };
  const detail = `the mode is ${value}; loadBalancer.securityListManagementMode of the cluster's cloud sets it for all Services`;
  const issue = { code: "SecurityLists", field, value: annotations?.[field], allowed: ALLOWED, detail };
  return { kind: "refused", issue };
}

const ALLOWED = `${RULE_MODE} as NSG or None`;
