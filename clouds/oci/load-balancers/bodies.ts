import type { DesiredState } from "#clouds/oci/load-balancers/desired-state/desired-state.ts";
import type { DesiredPort, IpFamily } from "#clouds/oci/load-balancers/desired-state/ports.ts";
import type { Backend, BackendSet } from "#clouds/oci/load-balancers/state.ts";
import { canonicalizeIp } from "#core/cidr.ts";

/** Addresses of backends by IP family. */
export type BackendAddresses = Readonly<Record<IpFamily, readonly string[]>>;

/**
 * Builds a backend set for creation or replacement. Settings of an operator on a backend that stays, such as
 * `drain`, are kept.
 */
export function buildBackendSet(
  wanted: DesiredState,
  port: DesiredPort,
  addresses: BackendAddresses,
  there?: BackendSet,
): Readonly<Record<string, unknown>> {
  const kept = new Map((there?.backends ?? []).map((backend) => [formatBackendKey(backend), backend]));
  const backends = addresses[port.family].map((ipAddress) => {
    const backend = { ipAddress, port: port.nodePort };
    return kept.get(formatBackendKey(backend)) ?? buildBackend(wanted.kind, backend);
  });
  const { sessionPersistenceConfiguration, lbCookieSessionPersistenceConfiguration } = there ?? {};
  return {
    policy: wanted.policy,
    backends,
    healthChecker: wanted.healthCheck,
    ...(wanted.kind === "lb"
      ? {}
      : { isPreserveSource: wanted.preservesSource, ipVersion: toIpVersion(port.family) }),
    ...(sessionPersistenceConfiguration ? { sessionPersistenceConfiguration } : {}),
    ...(lbCookieSessionPersistenceConfiguration ? { lbCookieSessionPersistenceConfiguration } : {}),
  };
}

/** Formats a key that tells backends apart, in any order and with any spelling of addresses. */
export function formatBackendKey({ ipAddress, port }: Pick<Backend, "ipAddress" | "port">): string {
  return `${canonicalizeIp(ipAddress ?? "") ?? ipAddress ?? ""}:${port}`;
}

/** Builds a backend for creation. */
export function buildBackend(
  kind: DesiredState["kind"],
  backend: { readonly ipAddress: string; readonly port: number },
) {
  return { ...(kind === "lb" ? {} : { name: formatBackendKey(backend) }), ...backend, weight: 1 };
}

/**
 * Builds a listener for creation or replacement; `whole` includes the API's defaults, so that earlier values
 * are reset.
 */
export function buildListener(
  wanted: DesiredState,
  port: DesiredPort,
  whole = false,
): Readonly<Record<string, unknown>> {
  const { kind, said } = wanted;
  const body = { defaultBackendSetName: port.backendSet, port: port.port, protocol: port.listenerProtocol };
  if (kind === "nlb")
    return {
      ...{ name: port.listener, ...body, ipVersion: toIpVersion(port.family) },
      ...(said.isPpv2Enabled === undefined && !whole ? {} : { isPpv2Enabled: said.isPpv2Enabled ?? false }),
    };
  const isSaid = said.idleTimeout !== undefined || said.proxyProtocolVersion !== undefined;
  const ruleSetNames = listRuleSets(wanted, port);
  return {
    ...body,
    ...(isSaid || whole ? { connectionConfiguration: buildConnectionConfiguration(wanted, port) } : {}),
    ...(ruleSetNames.length > 0 || whole ? { ruleSetNames } : {}),
  };
}

/** Builds a listener's idle timeout and proxy protocol settings. */
export function buildConnectionConfiguration(
  { said }: DesiredState,
  { listenerProtocol }: Pick<DesiredPort, "listenerProtocol">,
): { readonly idleTimeout: number; readonly backendTcpProxyProtocolVersion?: number } {
  const version = said.proxyProtocolVersion;
  return {
    idleTimeout: said.idleTimeout ?? getDefaultIdleTimeout(listenerProtocol),
    ...(version === undefined ? {} : { backendTcpProxyProtocolVersion: version }),
  };
}

/** Returns the default idle timeout in seconds. */
export function getDefaultIdleTimeout(listenerProtocol: string): number {
  return listenerProtocol === "TCP" ? 300 : 60;
}

/** Lists the rule sets of a listener, which only HTTP supports. */
export function listRuleSets(
  { ruleSets }: DesiredState,
  { listenerProtocol }: DesiredPort,
): readonly string[] {
  return listenerProtocol === "TCP" ? [] : Object.keys(ruleSets).sort();
}

/** Builds the complete body that creates a load balancer. */
export function createBody(
  wanted: DesiredState,
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
      : { nlbIpVersion: toNlbIpVersion(families) }),
    backendSets: Object.fromEntries(
      ports.map((port) => [port.backendSet, buildBackendSet(wanted, port, addresses)]),
    ),
    listeners: Object.fromEntries(ports.map((port) => [port.listener, buildListener(wanted, port)])),
    ...(Object.keys(wanted.ruleSets).length > 0 ? { ruleSets: wanted.ruleSets } : {}),
    ...(chosen.groups.length > 0 ? { networkSecurityGroupIds: chosen.groups } : {}),
    ...(chosen.reservedIp === undefined ? {} : { reservedIps: [{ id: chosen.reservedIp }] }),
    ...(said.assignedPrivateIPv4 === undefined ? {} : { assignedPrivateIpv4: said.assignedPrivateIPv4 }),
    ...(said.assignedIPv6 === undefined ? {} : { assignedIpv6: said.assignedIPv6 }),
    ...chosen.tags,
  };
}

/** Converts an IP family to the terms of network load balancers. */
export function toIpVersion(family: IpFamily): "IPV4" | "IPV6" {
  return family === "IPv4" ? "IPV4" : "IPV6";
}

function toNlbIpVersion(families: readonly IpFamily[]): string {
  const [first = "IPv4"] = families;
  return families.length > 1 ? "IPV4_AND_IPV6" : toIpVersion(first);
}
