import { type Annotations, isAmong } from "#clouds/aws/load-balancers/annotations/table.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service, ServicePort } from "#core/service/service.ts";

/** A listener and its target. */
export interface DesiredPort {
  readonly port: number;
  readonly protocol: "TCP" | "UDP" | "TCP_UDP" | "TLS";
  readonly nodePort: number;
  /** The protocol between the load balancer and its targets. */
  readonly targetProtocol: "TCP" | "UDP" | "TCP_UDP" | "TLS";
  readonly certificate?: string | undefined;
  readonly policy?: string | undefined;
}

/** The ports of a Service, or why they cannot be served. */
export type PortsResult =
  | { readonly kind: "read"; readonly ports: readonly DesiredPort[]; readonly warnings: readonly Issue[] }
  | { readonly kind: "refused"; readonly issue: Issue };

/**
 * Reads the listeners from a Service's ports. TCP and UDP with one number are one listener if they share the node
 * port and the listener has no TLS; otherwise the Service is refused.
 */
export function readPorts({ spec }: Service, annotations: Annotations): PortsResult {
  const all = spec.ports ?? [];
  if (all.length === 0) return reject("NoPorts", undefined, "at least one port");
  const warnings: Issue[] = [];
  const byNumber = new Map<number, ServicePort[]>();
  for (const port of all) {
    if (port.protocol !== "TCP" && port.protocol !== "UDP")
      return reject("UnsupportedProtocol", port.protocol, "TCP or UDP");
    // The API server assigns no node port if `allocateLoadBalancerNodePorts` is false.
    if (!port.nodePort) warnings.push(buildNoNodePortIssue(port));
    else byNumber.set(port.port, [...(byNumber.get(port.port) ?? []), port]);
  }
  if (byNumber.size === 0) return reject("NoNodePort", undefined, "at least one port with a nodePort");
  if (byNumber.size > MAX_LISTENERS)
    return reject("TooManyPorts", String(byNumber.size), `at most ${MAX_LISTENERS} ports`);
  const ports: DesiredPort[] = [];
  for (const portsWithNumber of byNumber.values()) {
    const read = buildDesiredPort(portsWithNumber, annotations);
    if ("code" in read) return { kind: "refused", issue: read };
    ports.push(read);
  }
  return { kind: "read", ports, warnings };
}

/** AWS's quota of listeners per network load balancer, which cannot be raised. */
const MAX_LISTENERS = 50;

function buildDesiredPort(
  [one, other, ...more]: readonly ServicePort[],
  annotations: Annotations,
): DesiredPort | Issue {
  if (one === undefined) throw new Error("a port number needs at least one port");
  const { port, nodePort = 0 } = one;
  const certificate = annotations["ssl-cert"];
  const isTls = [one, ...(other === undefined ? [] : [other])].some(
    (each) => each.protocol === "TCP" && certificate !== undefined && isAmong(annotations["ssl-ports"], each),
  );
  if (other !== undefined) {
    const isPair = one.protocol !== other.protocol && more.length === 0;
    if (!isPair || isTls || nodePort !== other.nodePort) return buildMixedIssue(port, isTls);
    return { port, protocol: "TCP_UDP", nodePort, targetProtocol: "TCP_UDP" };
  }
  if (!isTls) {
    const protocol = one.protocol === "UDP" ? "UDP" : "TCP";
    return { port, protocol, nodePort, targetProtocol: protocol };
  }
  const targetProtocol = annotations["backend-protocol"] === "ssl" ? "TLS" : "TCP";
  const policy = annotations["ssl-negotiation-policy"];
  return { port, protocol: "TLS", nodePort, targetProtocol, certificate, policy };
}

function buildMixedIssue(port: number, isTls: boolean): Issue {
  return {
    code: "MixedProtocols",
    field: "spec.ports",
    value: String(port),
    allowed: isTls
      ? "one protocol for a port with TLS termination"
      : "one protocol for each port number, or TCP and UDP with the same nodePort",
    detail: "each port number has one listener",
  };
}

function buildNoNodePortIssue({ port }: ServicePort): Issue {
  return {
    code: "NoNodePort",
    field: "spec.ports",
    value: String(port),
    allowed: "a port with a nodePort",
    detail: "the port is skipped",
  };
}

function reject(code: string, value: string | undefined, allowed: string): PortsResult {
  return { kind: "refused", issue: { code, field: "spec.ports", value, allowed } };
}

/** The IP families of a load balancer towards its clients and towards its targets. */
export interface Families {
  readonly loadBalancer: "ipv4" | "dualstack";
  readonly targets: "ipv4" | "ipv6";
  /** Whether IPv6 is required; otherwise IPv4 alone is enough if the network has no IPv6. */
  readonly isRequired: boolean;
}

/** Selects the families of a Service. In a single-stack cluster it has one, whatever its policy says. */
export function selectFamilies({ spec }: Service): Families {
  const families = spec.ipFamilies ?? [];
  if (!families.includes("IPv6")) return IPV4;
  return {
    loadBalancer: "dualstack",
    targets: families[0] === "IPv6" ? "ipv6" : "ipv4",
    // IPv4 targets cannot replace IPv6 ones.
    isRequired: spec.ipFamilyPolicy !== "PreferDualStack" || families[0] === "IPv6",
  };
}

/** IPv4 only. */
export const IPV4: Families = { loadBalancer: "ipv4", targets: "ipv4", isRequired: false };

/** All clients, in the families of the load balancer. */
export function listAllClients({ loadBalancer }: Families): readonly string[] {
  return loadBalancer === "dualstack" ? ["0.0.0.0/0", "::/0"] : ["0.0.0.0/0"];
}
