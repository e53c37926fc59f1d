import type { Backend, BackendSet } from "#clouds/oci/load-balancers/state.ts";
import type { IpFamily, WantedPort } from "#clouds/oci/load-balancers/wanted/ports.ts";
import type { Wanted } from "#clouds/oci/load-balancers/wanted/wanted.ts";
import { canonicalIp } from "#core/cidr.ts";

/** Where backends are reached, by IP family. */
export type BackendAddresses = Readonly<Record<IpFamily, readonly string[]>>;

/** A backend set as it is made or replaced. What an operator has set on a backend that stays, such as `drain`, is kept. */
export function backendSetBody(
  wanted: Wanted,
  port: WantedPort,
  addresses: BackendAddresses,
  there?: BackendSet,
): Readonly<Record<string, unknown>> {
  const kept = new Map((there?.backends ?? []).map((backend) => [backendKey(backend), backend]));
  const backends = addresses[port.family].map((ipAddress) => {
    const backend = { ipAddress, port: port.nodePort };
    return kept.get(backendKey(backend)) ?? newBackend(wanted.kind, backend);
  });
  const { sessionPersistenceConfiguration, lbCookieSessionPersistenceConfiguration } = there ?? {};
  return {
    policy: wanted.policy,
    backends,
    healthChecker: wanted.healthCheck,
    ...(wanted.kind === "lb"
      ? {}
      : { isPreserveSource: wanted.preservesSource, ipVersion: ipVersionOf(port.family) }),
    ...(sessionPersistenceConfiguration ? { sessionPersistenceConfiguration } : {}),
    ...(lbCookieSessionPersistenceConfiguration ? { lbCookieSessionPersistenceConfiguration } : {}),
  };
}

/** By what backends are told apart, in any order and however the API spells their addresses. */
export function backendKey({ ipAddress, port }: Pick<Backend, "ipAddress" | "port">): string {
  return `${canonicalIp(ipAddress ?? "") ?? ipAddress ?? ""}:${port}`;
}

/** A backend as it is made. */
export function newBackend(
  kind: Wanted["kind"],
  backend: { readonly ipAddress: string; readonly port: number },
) {
  return { ...(kind === "lb" ? {} : { name: backendKey(backend) }), ...backend, weight: 1 };
}

/** A listener as it is made or replaced; `whole` says also what the API would assume, so that what was there goes. */
export function listenerBody(
  wanted: Wanted,
  port: WantedPort,
  whole = false,
): Readonly<Record<string, unknown>> {
  const { kind, said } = wanted;
  const body = { defaultBackendSetName: port.backendSet, port: port.port, protocol: port.listenerProtocol };
  if (kind === "nlb")
    return {
      ...{ name: port.listener, ...body, ipVersion: ipVersionOf(port.family) },
      ...(said.isPpv2Enabled === undefined && !whole ? {} : { isPpv2Enabled: said.isPpv2Enabled ?? false }),
    };
  const isSaid = said.idleTimeout !== undefined || said.proxyProtocolVersion !== undefined;
  const ruleSetNames = ruleSetsOf(wanted, port);
  return {
    ...body,
    ...(isSaid || whole ? { connectionConfiguration: connectionOf(wanted, port) } : {}),
    ...(ruleSetNames.length > 0 || whole ? { ruleSetNames } : {}),
  };
}

/** How a listener keeps connections and tells backends of them. */
export function connectionOf(
  { said }: Wanted,
  { listenerProtocol }: Pick<WantedPort, "listenerProtocol">,
): { readonly idleTimeout: number; readonly backendTcpProxyProtocolVersion?: number } {
  const version = said.proxyProtocolVersion;
  return {
    idleTimeout: said.idleTimeout ?? defaultIdleTimeout(listenerProtocol),
    ...(version === undefined ? {} : { backendTcpProxyProtocolVersion: version }),
  };
}

/** Seconds, where nobody says how many. */
export function defaultIdleTimeout(listenerProtocol: string): number {
  return listenerProtocol === "TCP" ? 300 : 60;
}

/** The rule sets of a listener: they hold for HTTP alone. */
export function ruleSetsOf({ ruleSets }: Wanted, { listenerProtocol }: WantedPort): readonly string[] {
  return listenerProtocol === "TCP" ? [] : Object.keys(ruleSets).sort();
}

/** What a load balancer is made of, whole. */
export function createBody(
  wanted: Wanted,
  addresses: BackendAddresses,
  chosen: {
    readonly subnets: readonly string[];
    readonly groups: readonly string[];
    readonly reservedIp: string | undefined;
    readonly tags: object;
  },
): Readonly<Record<string, unknown>> {
  const { kind, ports, families, said } = wanted;
  const [subnetId] = chosen.subnets;
  return {
    compartmentId: wanted.compartment,
    displayName: wanted.displayName,
    isPrivate: wanted.isPrivate,
    ...(kind === "lb" ? { ...wanted.shape, subnetIds: chosen.subnets } : { subnetId }),
    ...(kind === "lb"
      ? families[0] === "IPv6"
        ? { ipMode: "IPV6" }
        : {}
      : { nlbIpVersion: nlbIpVersionOf(families) }),
    backendSets: Object.fromEntries(
      ports.map((port) => [port.backendSet, backendSetBody(wanted, port, addresses)]),
    ),
    listeners: Object.fromEntries(ports.map((port) => [port.listener, listenerBody(wanted, port)])),
    ...(Object.keys(wanted.ruleSets).length > 0 ? { ruleSets: wanted.ruleSets } : {}),
    ...(chosen.groups.length > 0 ? { networkSecurityGroupIds: chosen.groups } : {}),
    ...(chosen.reservedIp === undefined ? {} : { reservedIps: [{ id: chosen.reservedIp }] }),
    ...(said.assignedPrivateIPv4 === undefined ? {} : { assignedPrivateIpv4: said.assignedPrivateIPv4 }),
    ...(said.assignedIPv6 === undefined ? {} : { assignedIpv6: said.assignedIPv6 }),
    ...chosen.tags,
  };
}

/** An IP family in the words of network load balancers. */
export function ipVersionOf(family: IpFamily): "IPV4" | "IPV6" {
  return family === "IPv4" ? "IPV4" : "IPV6";
}

function nlbIpVersionOf(families: readonly IpFamily[]): string {
  const [first = "IPv4"] = families;
  return families.length > 1 ? "IPV4_AND_IPV6" : ipVersionOf(first);
}
