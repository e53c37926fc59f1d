import type { PortRule } from "#clouds/rancher/cattle/load-balancers/state.ts";
import { canonicalJson } from "#core/hash.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** What of a Service no load balancer of Rancher 1.x can be; undefined where one can. */
export function problemWith({ spec }: Service): Problem | undefined {
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

/** The ports that a load balancer is made with; other ones take another load balancer. */
export function portsOf({ spec: { ports = [] } }: Service): string[] {
  return ports.map(({ port }) => `${port}:${port}/tcp`).toSorted();
}

/** What of those ports goes to one external service. */
export function rulesOf({ spec: { ports = [] } }: Service, serviceId: string): PortRule[] {
  return ports.map(({ port, nodePort = 0 }) => ({
    sourcePort: port,
    targetPort: nodePort,
    serviceId,
    protocol: "tcp",
  }));
}

/** In whatever order. */
export function isSameRules(one: readonly PortRule[], other: readonly PortRule[]): boolean {
  const texts = (rules: readonly PortRule[]): string[] => rules.map((rule) => canonicalJson(rule)).toSorted();
  return canonicalJson(texts(one)) === canonicalJson(texts(other));
}
