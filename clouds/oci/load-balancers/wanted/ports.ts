import type { LoadBalancerKind, Said } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** A port as one listener serves it, of one IP family. */
export interface WantedPort {
  /** Of the backend set. */
  readonly backendSet: string;
  readonly listener: string;
  readonly port: number;
  readonly nodePort: number;
  /** Of the port itself: TCP, UDP, or both of them on one listener of a network load balancer. */
  readonly protocol: "TCP" | "UDP" | "TCP_AND_UDP";
  readonly listenerProtocol: string;
  readonly family: IpFamily;
}

/** An IP family in Kubernetes' words. */
export type IpFamily = "IPv4" | "IPv6";

/** What the ports of a Service come to, or why they cannot be served. */
export type ReadPorts =
  | { readonly kind: "read"; readonly ports: readonly WantedPort[] }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Reads the ports of a Service for a kind of load balancer and for IP families. */
export function readPorts(
  kind: LoadBalancerKind,
  { spec }: Pick<Service, "spec">,
  { backendProtocol = "TCP" }: Said,
  families: readonly IpFamily[],
): ReadPorts {
  const { ports = [] } = spec;
  if (ports.length === 0) return refused({ code: "NoPorts", field: "spec.ports" });
  const byPort = new Map<number, { nodePort: number; protocol: WantedPort["protocol"] }>();
  for (const [index, { port, nodePort, protocol }] of ports.entries()) {
    if (!nodePort) return refused({ code: "NoNodePort", field: `spec.ports[${index}].nodePort` });
    if (protocol !== "TCP" && (kind === "lb" || protocol !== "UDP")) {
      const allowed = kind === "lb" ? "TCP" : "TCP or UDP";
      return refused({
        code: "UnsupportedProtocol",
        field: `spec.ports[${index}].protocol`,
        value: protocol,
        allowed,
      });
    }
    const other = byPort.get(port);
    if (other !== undefined && other.nodePort !== nodePort)
      return refused({ code: "MixedProtocols", field: `spec.ports[${index}].nodePort` });
    byPort.set(port, {
      nodePort,
      protocol: other === undefined || other.protocol === protocol ? protocol : "TCP_AND_UDP",
    });
  }
  const wanted = [...byPort].flatMap(([port, { nodePort, protocol }]) =>
    families.map((family): WantedPort => {
      const listenerProtocol = kind === "lb" ? backendProtocol : protocol;
      const suffix = family === "IPv6" ? "-IPv6" : "";
      return {
        backendSet: `${protocol}-${port}${suffix}`,
        listener: `${listenerProtocol}-${port}${suffix}`,
        ...{ port, nodePort, protocol, listenerProtocol, family },
      };
    }),
  );
  return { kind: "read", ports: wanted };
}

function refused(problem: Problem): ReadPorts {
  return { kind: "refused", problem };
}
