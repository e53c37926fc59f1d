import {
  type AnnotationSettings,
  findAnnotation,
  type LoadBalancerKind,
  RULE_MODE,
} from "#clouds/oci/load-balancers/annotations/table.ts";
import type { LoadBalancerConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** A port that one listener serves in one IP family. */
export interface DesiredPort {
  /** The name of its backend set. */
  readonly backendSet: string;
  readonly listener: string;
  readonly port: number;
  readonly nodePort: number;
  /** The protocol of the port: TCP, UDP, or both on one listener of a network load balancer. */
  readonly protocol: "TCP" | "UDP" | "TCP_AND_UDP";
  readonly listenerProtocol: string;
  readonly family: IpFamily;
}

/** An IP family in Kubernetes' terms. */
export type IpFamily = "IPv4" | "IPv6";

/** The ports of a Service, or why they cannot be served. */
export type PortsResult =
  | { readonly kind: "read"; readonly ports: readonly DesiredPort[] }
  | { readonly kind: "refused"; readonly issue: Issue };

/** Reads the ports of a Service for a type of load balancer and for IP families. */
export function readPorts(
  kind: LoadBalancerKind,
  { spec }: Pick<Service, "spec">,
  { backendProtocol = "TCP" }: AnnotationSettings,
  families: readonly IpFamily[],
): PortsResult {
  const { ports = [] } = spec;
  if (ports.length === 0) return reject({ code: "NoPorts", field: "spec.ports" });
  const byPort = new Map<number, { nodePort: number; protocol: DesiredPort["protocol"] }>();
  for (const [index, { port, nodePort, protocol }] of ports.entries()) {
    if (!nodePort) return reject({ code: "NoNodePort", field: `spec.ports[${index}].nodePort` });
    if (protocol !== "TCP" && (kind === "lb" || protocol !== "UDP")) {
      const allowed = kind === "lb" ? "TCP" : "TCP or UDP";
      return reject({
        code: "UnsupportedProtocol",
        field: `spec.ports[${index}].protocol`,
        value: protocol,
        allowed,
      });
    }
    const other = byPort.get(port);
    if (other !== undefined && other.nodePort !== nodePort)
      return reject({ code: "MixedProtocols", field: `spec.ports[${index}].nodePort` });
    byPort.set(port, {
      nodePort,
      protocol: other === undefined || other.protocol === protocol ? protocol : "TCP_AND_UDP",
    });
  }
  const desiredPorts = [...byPort].flatMap(([port, { nodePort, protocol }]) =>
    families.map((family): DesiredPort => {
      const listenerProtocol = kind === "lb" ? backendProtocol : protocol;
      const suffix = family === "IPv6" ? "-IPv6" : "";
      return {
        backendSet: `${protocol}-${port}${suffix}`,
        listener: `${listenerProtocol}-${port}${suffix}`,
        ...{ port, nodePort, protocol, listenerProtocol, family },
      };
    }),
  );
  return { kind: "read", ports: desiredPorts };
}

function reject(issue: Issue): PortsResult {
  return { kind: "refused", issue };
}

/**
 * Where rules for clients and the load balancer are managed: in our network security groups, or by others.
 */
export type RuleMode = "NSG" | "None";

/** The mode of a Service, or why it cannot be served. */
type RuleModeResult =
  | { readonly kind: "read"; readonly mode: RuleMode }
  | { readonly kind: "refused"; readonly issue: Issue };

/**
 * Reads the mode from the annotation for both types, else from the type's own annotation, else from the cluster's
 * configuration. The default for the type `lb` is `All`, as in the stock controller. Security lists belong to whole
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
