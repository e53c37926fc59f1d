import type { Listener, ListenerDescription } from "@aws-sdk/client-elastic-load-balancing";
import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import { isAmong } from "#clouds/aws/load-balancers/annotations/tls-ports.ts";
import type { ClassicLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerAction, Problem } from "#core/service/model.ts";
import type { Service, ServicePort } from "#core/service/service.ts";

/** The listeners that a Service's ports are, or why they cannot be served. */
export type ReadListeners =
  | { readonly listeners: readonly Listener[]; readonly warnings: readonly Problem[] }
  | { readonly problem: Problem };

/** Reads which listeners a Service's ports are. A port without a node port is left out. */
export function readListeners({ spec }: Service, annotations: Annotations): ReadListeners {
  const ports = spec.ports ?? [];
  if (ports.length === 0)
    return { problem: { code: "NoPorts", field: "spec.ports", allowed: "one port at least" } };
  const foreign = ports.findIndex(({ protocol }) => protocol !== "TCP");
  if (foreign !== -1) return { problem: unsupported(foreign, ports[foreign]?.protocol) };
  const served = ports.filter(({ nodePort }) => nodePort);
  if (served.length === 0)
    return {
      problem: { code: "NoNodePort", field: "spec.ports", allowed: "one port with a nodePort at least" },
    };
  if (served.length > MAX_LISTENERS)
    return {
      problem: {
        code: "TooManyPorts",
        field: "spec.ports",
        value: String(served.length),
        allowed: `at most ${MAX_LISTENERS} ports`,
      },
    };
  const warnings = served.length === ports.length ? [] : [leftOut(ports)];
  return { listeners: served.map((port) => listenerOf(port, annotations)), warnings };
}

/** AWS's quota of listeners of a classic load balancer. */
const MAX_LISTENERS = 100;

function listenerOf(port: ServicePort, annotations: Annotations): Listener {
  const certificate = annotations["ssl-cert"];
  const backend = annotations["backend-protocol"];
  const ports = { LoadBalancerPort: port.port, InstancePort: port.nodePort };
  if (certificate === undefined || !isAmong(annotations["ssl-ports"], port)) {
    const protocol = backend === "http" ? "HTTP" : "TCP";
    return { ...ports, Protocol: protocol, InstanceProtocol: protocol };
  }
  const [Protocol, InstanceProtocol] = WITH_CERTIFICATE[backend ?? "tcp"];
  return { ...ports, Protocol, InstanceProtocol, SSLCertificateId: certificate };
}

/** What clients and what instances are spoken to where TLS ends at the load balancer, by `backend-protocol`. */
const WITH_CERTIFICATE = {
  https: ["HTTPS", "HTTPS"],
  http: ["HTTPS", "HTTP"],
  ssl: ["SSL", "SSL"],
  tcp: ["SSL", "TCP"],
} as const;

/** Whether clients speak TLS with a listener. */
export function isTls({ Protocol: protocol }: Listener): boolean {
  return isSame(protocol, "HTTPS") || isSame(protocol, "SSL");
}

/**
 * Makes the listeners those that are wanted. Where nothing but the certificate differs it is exchanged in place; whatever else
 * differs AWS cannot change, so that the listener is taken away and made anew.
 */
export function planListeners(
  { loadBalancer }: ClassicLoadBalancerState,
  wanted: readonly Listener[],
): readonly LoadBalancerAction[] {
  const name = loadBalancer.LoadBalancerName ?? "";
  const actual = listenersOf(loadBalancer.ListenerDescriptions);
  const removed = actual.filter((each) => !wanted.some((one) => isAlike(each, one)));
  const added = wanted.filter((each) => !actual.some((one) => isAlike(each, one)));
  const reissued = wanted.filter((each) =>
    actual.some((one) => isAlike(each, one) && !isSame(each.SSLCertificateId, one.SSLCertificateId)),
  );
  return [
    ...(removed.length === 0
      ? []
      : [
          awsAction("elb:DeleteLoadBalancerListeners", name, {
            LoadBalancerName: name,
            LoadBalancerPorts: removed.map(({ LoadBalancerPort: port = 0 }) => port),
          }),
        ]),
    ...(added.length === 0
      ? []
      : [
          awsAction("elb:CreateLoadBalancerListeners", name, {
            LoadBalancerName: name,
            Listeners: [...added],
          }),
        ]),
    ...reissued.map(({ LoadBalancerPort, SSLCertificateId }) =>
      awsAction("elb:SetLoadBalancerListenerSSLCertificate", name, {
        LoadBalancerName: name,
        LoadBalancerPort,
        SSLCertificateId,
      }),
    ),
  ];
}

/** The listeners that AWS describes. */
export function listenersOf(descriptions: readonly ListenerDescription[] = []): readonly Listener[] {
  return descriptions.flatMap(({ Listener: listener }) => listener ?? []);
}

/** Whether two listeners differ in nothing but which certificate they have; how protocols are capitalized is AWS's affair. */
function isAlike(one: Listener, other: Listener): boolean {
  return (
    one.LoadBalancerPort === other.LoadBalancerPort &&
    one.InstancePort === other.InstancePort &&
    isSame(one.Protocol, other.Protocol) &&
    isSame(one.InstanceProtocol ?? one.Protocol, other.InstanceProtocol ?? other.Protocol) &&
    (one.SSLCertificateId === undefined) === (other.SSLCertificateId === undefined)
  );
}

function isSame(one: string | undefined, other: string | undefined): boolean {
  return one?.toLowerCase() === other?.toLowerCase();
}

function unsupported(index: number, protocol: string | undefined): Problem {
  return {
    code: "UnsupportedProtocol",
    field: `spec.ports[${index}].protocol`,
    value: protocol,
    allowed: "TCP, as for all that a classic load balancer serves",
  };
}

function leftOut(ports: readonly ServicePort[]): Problem {
  return {
    code: "NoNodePort",
    field: `spec.ports[${ports.findIndex(({ nodePort }) => !nodePort)}].nodePort`,
    allowed: "a port of nodes; without one the port is left out",
  };
}
