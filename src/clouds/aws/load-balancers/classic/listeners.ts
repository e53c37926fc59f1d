import type { Listener, ListenerDescription } from "@aws-sdk/client-elastic-load-balancing";
import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { type Annotations, isAmong } from "#clouds/aws/load-balancers/annotations/table.ts";
import type { ClassicLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";
import type { Service, ServicePort } from "#core/service/service.ts";

/** The listeners of a Service's ports, or why they cannot be served. */
export type ListenersResult =
  | { readonly listeners: readonly Listener[]; readonly warnings: readonly Issue[] }
  | { readonly issue: Issue };

/** Reads the listeners from a Service's ports. Ports without a node port are skipped. */
export function readListeners({ spec }: Service, annotations: Annotations): ListenersResult {
  const ports = spec.ports ?? [];
  if (ports.length === 0)
    return { issue: { code: "NoPorts", field: "spec.ports", allowed: "at least one port" } };
  const unsupported = ports.findIndex(({ protocol }) => protocol !== "TCP");
  if (unsupported !== -1) return { issue: buildUnsupportedIssue(unsupported, ports[unsupported]?.protocol) };
  const served = ports.filter(({ nodePort }) => nodePort);
  if (served.length === 0)
    return {
      issue: { code: "NoNodePort", field: "spec.ports", allowed: "at least one port with a nodePort" },
    };
  if (served.length > MAX_LISTENERS)
    return {
      issue: {
        code: "TooManyPorts",
        field: "spec.ports",
        value: String(served.length),
        allowed: `at most ${MAX_LISTENERS} ports`,
      },
    };
  const warnings = served.length === ports.length ? [] : [buildSkippedPortsIssue(ports)];
  return { listeners: served.map((port) => buildListener(port, annotations)), warnings };
}

/** AWS's quota of listeners per classic load balancer. */
const MAX_LISTENERS = 100;

function buildListener(port: ServicePort, annotations: Annotations): Listener {
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

/** Protocols towards clients and instances if TLS ends at the load balancer, by `backend-protocol`. */
const WITH_CERTIFICATE = {
  https: ["HTTPS", "HTTPS"],
  http: ["HTTPS", "HTTP"],
  ssl: ["SSL", "SSL"],
  tcp: ["SSL", "TCP"],
} as const;

/** Whether clients use TLS with a listener. */
export function isTls({ Protocol: protocol }: Listener): boolean {
  return isSame(protocol, "HTTPS") || isSame(protocol, "SSL");
}

/**
 * Plans the changes to the desired listeners. A certificate is replaced in place. AWS can change nothing
 * else, so the listener is deleted and created again.
 */
export function planListeners(
  { loadBalancer }: ClassicLoadBalancerState,
  desired: readonly Listener[],
): readonly LoadBalancerAction[] {
  const name = loadBalancer.LoadBalancerName ?? "";
  const actual = listListeners(loadBalancer.ListenerDescriptions);
  const removed = actual.filter((each) => !desired.some((one) => isAlike(each, one)));
  const added = desired.filter((each) => !actual.some((one) => isAlike(each, one)));
  const reissued = desired.filter((each) =>
    actual.some((one) => isAlike(each, one) && !isSame(each.SSLCertificateId, one.SSLCertificateId)),
  );
  return [
    ...(removed.length === 0
      ? []
      : [
          buildAction("elb:DeleteLoadBalancerListeners", name, {
            LoadBalancerName: name,
            LoadBalancerPorts: removed.map(({ LoadBalancerPort: port = 0 }) => port),
          }),
        ]),
    ...(added.length === 0
      ? []
      : [
          buildAction("elb:CreateLoadBalancerListeners", name, {
            LoadBalancerName: name,
            Listeners: [...added],
          }),
        ]),
    ...reissued.map(({ LoadBalancerPort, SSLCertificateId }) =>
      buildAction("elb:SetLoadBalancerListenerSSLCertificate", name, {
        LoadBalancerName: name,
        LoadBalancerPort,
        SSLCertificateId,
      }),
    ),
  ];
}

/** Lists the listeners in AWS's descriptions. */
export function listListeners(descriptions: readonly ListenerDescription[] = []): readonly Listener[] {
  return descriptions.flatMap(({ Listener: listener }) => listener ?? []);
}

/**
 * Whether two listeners differ in nothing but their certificate; capitals in protocols are ignored, as AWS
 * chooses them.
 */
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

function buildUnsupportedIssue(index: number, protocol: string | undefined): Issue {
  return {
    code: "UnsupportedProtocol",
    field: `spec.ports[${index}].protocol`,
    value: protocol,
    allowed: "TCP, the only protocol of a classic load balancer",
  };
}

function buildSkippedPortsIssue(ports: readonly ServicePort[]): Issue {
  return {
    code: "NoNodePort",
    field: `spec.ports[${ports.findIndex(({ nodePort }) => !nodePort)}].nodePort`,
    allowed: "a node port; a port without one is skipped",
  };
}
