import type { AnnotationSettings, LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
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
