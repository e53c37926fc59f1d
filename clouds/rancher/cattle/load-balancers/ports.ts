import type { PortRule } from "#clouds/rancher/cattle/load-balancers/state.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Returns which part of a Service no load balancer of Rancher 1.x supports; undefined if all are supported.
 */
export function checkPorts({ spec }: Service): Issue | undefined {
  const { ports = [], loadBalancerIP, sessionAffinity } = spec;
  if (loadBalancerIP) return { code: "LoadBalancerIP", field: "spec.loadBalancerIP", value: loadBalancerIP };
  if (sessionAffinity !== undefined && sessionAffinity !== "None")
    return { code: "SessionAffinity", field: "spec.sessionAffinity", value: sessionAffinity };
  if (ports.length === 0) return { code: "NoPorts", field: "spec.ports" };
  for (const [index, { protocol, nodePort }] of ports.entries()) {
    const field = `spec.ports[${index}]`;
    if (protocol !== "TCP")
      return { code: "UnsupportedProtocol", field: `${field}.protocol`, value: protocol, allowed: "TCP" };
    if (!nodePort) return { code: "NoNodePort", field: `${field}.nodePort` };
  }
  return undefined;
}

/** Formats the ports at a load balancer's creation; other ports need a new load balancer. */
export function formatPorts({ spec: { ports = [] } }: Service): string[] {
  return ports.map(({ port }) => `${port}:${port}/tcp`).toSorted();
}

/** Builds the rules that forward these ports to one external service. */
export function buildRules({ spec: { ports = [] } }: Service, serviceId: string): PortRule[] {
  return ports.map(({ port, nodePort = 0 }) => ({
    sourcePort: port,
    targetPort: nodePort,
    serviceId,
    protocol: "tcp",
  }));
}

/** Compares rules in any order. */
export function isSameRules(one: readonly PortRule[], other: readonly PortRule[]): boolean {
  const texts = (rules: readonly PortRule[]): string[] =>
    rules.map((rule) => formatCanonicalJson(rule)).toSorted();
  return formatCanonicalJson(texts(one)) === formatCanonicalJson(texts(other));
}
