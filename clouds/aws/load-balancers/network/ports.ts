import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import { isAmong } from "#clouds/aws/load-balancers/annotations/tls-ports.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service, ServicePort } from "#core/service/service.ts";

/** A listener and where it sends to. */
export interface PortWanted {
  readonly port: number;
  readonly protocol: "TCP" | "UDP" | "TCP_UDP" | "TLS";
  readonly nodePort: number;
  /** What targets are spoken to. */
  readonly targetProtocol: "TCP" | "UDP" | "TCP_UDP" | "TLS";
  readonly certificate?: string | undefined;
  readonly policy?: string | undefined;
}

/** What ports a Service wants, or why they cannot be served. */
export type ReadPorts =
  | { readonly kind: "read"; readonly ports: readonly PortWanted[]; readonly warnings: readonly Problem[] }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Reads which listeners a Service's ports are; TCP and UDP of one number are one listener, where they share the node port, too. */
export function readPorts({ spec }: Service, annotations: Annotations): ReadPorts {
  const all = spec.ports ?? [];
  if (all.length === 0) return refused("NoPorts", undefined, "at least one port");
  const warnings: Problem[] = [];
  const byNumber = new Map<number, ServicePort[]>();
  for (const port of all) {
    if (port.protocol !== "TCP" && port.protocol !== "UDP")
      return refused("UnsupportedProtocol", port.protocol, "TCP or UDP");
    // The API server gives none where `allocateLoadBalancerNodePorts` is false.
    if (!port.nodePort) warnings.push(noNodePort(port));
    else byNumber.set(port.port, [...(byNumber.get(port.port) ?? []), port]);
  }
  if (byNumber.size === 0) return refused("NoNodePort", undefined, "at least one port with a nodePort");
  if (byNumber.size > MAX_LISTENERS)
    return refused("TooManyPorts", String(byNumber.size), `at most ${MAX_LISTENERS} ports`);
  const ports: PortWanted[] = [];
  for (const same of byNumber.values()) {
    const read = listenerOf(same, annotations);
    if ("code" in read) return { kind: "refused", problem: read };
    ports.push(read);
  }
  return { kind: "read", ports, warnings };
}

/** AWS's quota of listeners of a network load balancer, which nobody can have raised. */
const MAX_LISTENERS = 50;

function listenerOf(
  [one, other, ...more]: readonly ServicePort[],
  annotations: Annotations,
): PortWanted | Problem {
  if (one === undefined) throw new Error("a port number stands for one port at least");
  const { port, nodePort = 0 } = one;
  const certificate = annotations["ssl-cert"];
  const isTls = [one, ...(other === undefined ? [] : [other])].some(
    (each) => each.protocol === "TCP" && certificate !== undefined && isAmong(annotations["ssl-ports"], each),
  );
  if (other !== undefined) {
    const isPair = one.protocol !== other.protocol && more.length === 0;
    if (!isPair || isTls || nodePort !== other.nodePort) return mixed(port, isTls);
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

function mixed(port: number, isTls: boolean): Problem {
  return {
    code: "MixedProtocols",
    field: "spec.ports",
    value: String(port),
    allowed: isTls
      ? "one protocol for a port that ends TLS: a network load balancer has one listener for each port number"
      : "one protocol for each port number, or TCP and UDP with the same nodePort",
  };
}

function noNodePort({ port }: ServicePort): Problem {
  return {
    code: "NoNodePort",
    field: "spec.ports",
    value: String(port),
    allowed: "a port with a nodePort; this one is left out",
  };
}

function refused(code: string, value: string | undefined, allowed: string): ReadPorts {
  return { kind: "refused", problem: { code, field: "spec.ports", value, allowed } };
}
