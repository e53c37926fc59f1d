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
 * else, so the listener is deleted and created again, one port after the other. Listeners without a certificate come
 * first: AWS may reject a certificate. A listener is deleted only once the load balancer uses its next certificate
 * elsewhere, on a listener of a free port if need be. So a rejected certificate takes no listener away.
 */
export function planListeners(
  { loadBalancer }: ClassicLoadBalancerState,
  desired: readonly Listener[],
): readonly LoadBalancerAction[] {
  const name = loadBalancer.LoadBalancerName ?? "";
  const actual = listListeners(loadBalancer.ListenerDescriptions);
  const isListed = (listeners: readonly Listener[], { LoadBalancerPort: port }: Listener): boolean =>
    listeners.some(({ LoadBalancerPort }) => LoadBalancerPort === port);
  const changed = desired.filter((each) => !actual.some((one) => isAlike(each, one)));
  const added = changed.filter((each) => !isListed(actual, each));
  const replaced = changed.filter((each) => isListed(actual, each));
  const reissued = desired.filter((each) =>
    actual.some((one) => isAlike(each, one) && !isSame(each.SSLCertificateId, one.SSLCertificateId)),
  );
  const removed = actual.filter((each) => !isListed(desired, each));
  const replacedWithTls = replaced.filter(isTls);
  // A removed listener may be the one that has shown before an interruption that a certificate is usable.
  const isProof = (each: Listener): boolean =>
    isTls(each) && replacedWithTls.some((one) => isSame(one.SSLCertificateId, each.SSLCertificateId));
  const obsolete = removed.filter((each) => !isProof(each));
  const used = [...actual, ...added.filter(isTls), ...reissued];
  const probes = buildProbe(replacedWithTls, used, desired);
  const replace = (each: Listener): readonly LoadBalancerAction[] => [
    ...buildDeletion(name, [each]),
    ...buildCreation(name, [each]),
  ];
  return [
    ...buildDeletion(name, obsolete),
    ...buildCreation(
      name,
      added.filter((each) => !isTls(each)),
    ),
    ...replaced.filter((each) => !isTls(each)).flatMap(replace),
    ...buildCreation(name, added.filter(isTls)),
    ...reissued.map(({ LoadBalancerPort, SSLCertificateId }) =>
      buildAction("elb:SetLoadBalancerListenerSSLCertificate", name, {
        LoadBalancerName: name,
        LoadBalancerPort,
        SSLCertificateId,
      }),
    ),
    ...buildCreation(name, probes),
    ...replacedWithTls.flatMap(replace),
    ...buildDeletion(name, [...probes, ...removed.filter(isProof)]),
  ];
}

/**
 * Builds a listener of a free port with the certificate that other listeners get, unless one of the load balancer's
 * listeners uses it. Our own security group lets no client in on that port.
 */
function buildProbe(
  [first]: readonly Listener[],
  used: readonly Listener[],
  desired: readonly Listener[],
): readonly Listener[] {
  const isUsed = used.some((each) => isSame(each.SSLCertificateId, first?.SSLCertificateId));
  if (first === undefined || isUsed || Math.max(used.length, desired.length) >= MAX_LISTENERS) return [];
  const ports = new Set([...used, ...desired].map(({ LoadBalancerPort: port }) => port));
  const freePorts = Array.from({ length: ports.size + 1 }, (_, index) => MAX_PORT - index);
  return [{ ...first, LoadBalancerPort: freePorts.find((port) => !ports.has(port)) }];
}

const MAX_PORT = 65_535;

function buildDeletion(name: string, listeners: readonly Listener[]): readonly LoadBalancerAction[] {
  if (listeners.length === 0) return [];
  const ports = listeners.map(({ LoadBalancerPort: port = 0 }) => port);
  return [
    buildAction("elb:DeleteLoadBalancerListeners", name, {
      LoadBalancerName: name,
      LoadBalancerPorts: ports,
    }),
  ];
}

function buildCreation(name: string, listeners: readonly Listener[]): readonly LoadBalancerAction[] {
  if (listeners.length === 0) return [];
  return [
    buildAction("elb:CreateLoadBalancerListeners", name, {
      LoadBalancerName: name,
      Listeners: [...listeners],
    }),
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
