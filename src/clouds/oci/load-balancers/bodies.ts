import type { DesiredState } from "#clouds/oci/load-balancers/desired-state/desired-state.ts";
import type { DesiredPort, IpFamily } from "#clouds/oci/load-balancers/desired-state/ports.ts";
import type { Backend, BackendSet } from "#clouds/oci/load-balancers/state.ts";
import { canonicalizeIp } from "#core/cidr.ts";

/**
 * Addresses of backends by IP family. Undefined if the cluster has nodes and none of them has an address of
 * the family: a set then keeps its backends.
 */
export type BackendAddresses = Readonly<Record<IpFamily, readonly string[] | undefined>>;

/** Selects the addresses of a set's backends. */
export function selectAddresses(
  addresses: BackendAddresses,
  { family }: Pick<DesiredPort, "family">,
  current: BackendSet | undefined,
): readonly string[] {
  const kept = (current?.backends ?? []).flatMap(({ ipAddress }) => ipAddress ?? []);
  return addresses[family] ?? [...new Set(kept)];
}

/**
 * Builds a backend set for creation or replacement. Settings of an operator on a backend that stays, such as
 * `drain`, are kept.
 */
export function buildBackendSet(
  desired: DesiredState,
  port: DesiredPort,
  addresses: BackendAddresses,
  current?: BackendSet,
): Readonly<Record<string, unknown>> {
  const { sessionPersistenceConfiguration, lbCookieSessionPersistenceConfiguration } = current ?? {};
  return {
    policy: desired.policy,
    backends: buildBackends(desired.kind, port, addresses, current),
    healthChecker: desired.healthCheck,
    ...(desired.kind === "lb"
      ? {}
      : { isPreserveSource: desired.preservesSource, ipVersion: toIpVersion(port.family) }),
    ...(sessionPersistenceConfiguration ? { sessionPersistenceConfiguration } : {}),
    ...(lbCookieSessionPersistenceConfiguration ? { lbCookieSessionPersistenceConfiguration } : {}),
  };
}

/**
 * Builds the update of a backend set that changes its backends alone. An update replaces the whole set: the
 * fields of a read are sent back, without the name and empty fields.
 */
export function buildBackendsUpdate(
  kind: DesiredState["kind"],
  port: DesiredPort,
  addresses: BackendAddresses,
  current: BackendSet,
): Readonly<Record<string, unknown>> {
  const keptFields = Object.entries(current).filter(([key, value]) => key !== "name" && value !== null);
  return { ...Object.fromEntries(keptFields), backends: buildBackends(kind, port, addresses, current) };
}

/** Builds the backends of a set; existing ones stay as OCI shows them. */
function buildBackends(
  kind: DesiredState["kind"],
  port: DesiredPort,
  addresses: BackendAddresses,
  current: BackendSet | undefined,
): readonly unknown[] {
  const currentBackends = new Map(
    (current?.backends ?? []).map((backend) => [formatBackendKey(backend), backend]),
  );
  return selectAddresses(addresses, port, current).map((ipAddress) => {
    const backend = { ipAddress, port: port.nodePort };
    return buildBackend(kind, backend, currentBackends.get(formatBackendKey(backend)));
  });
}

/** Formats a key that tells backends apart, in any order and with any spelling of addresses. */
export function formatBackendKey({ ipAddress, port }: Pick<Backend, "ipAddress" | "port">): string {
  return `${formatAddress({ ipAddress })}:${port}`;
}

/** Formats a backend's address for comparison: the API may spell it differently. */
export function formatAddress({ ipAddress }: Pick<Backend, "ipAddress">): string {
  return canonicalizeIp(ipAddress ?? "") ?? ipAddress ?? "";
}

/**
 * Builds a backend of a request: `current` as the API shows it, or a new one. Load balancers show a name and
 * accept none; network load balancers accept it.
 */
function buildBackend(
  kind: DesiredState["kind"],
  backend: { readonly ipAddress: string; readonly port: number },
  current?: Backend,
): Readonly<Record<string, unknown>> {
  const name = kind === "lb" ? {} : { name: formatBackendKey(backend) };
  if (current === undefined) return { ...name, ...backend, weight: 1 };
  const { name: _, ...accepted } = current;
  return kind === "lb" ? accepted : current;
}

/**
 * Builds a listener for creation or replacement; `whole` includes the API's defaults, so that earlier values
 * are reset.
 */
export function buildListener(
  desired: DesiredState,
  port: DesiredPort,
  whole = false,
): Readonly<Record<string, unknown>> {
  const { kind, annotationSettings } = desired;
  const body = { defaultBackendSetName: port.backendSet, port: port.port, protocol: port.listenerProtocol };
  if (kind === "nlb")
    return {
      ...{ name: port.listener, ...body, ipVersion: toIpVersion(port.family) },
      ...(annotationSettings.isPpv2Enabled === undefined && !whole
        ? {}
        : { isPpv2Enabled: annotationSettings.isPpv2Enabled ?? false }),
    };
  const hasConnectionSettings =
    annotationSettings.idleTimeout !== undefined || annotationSettings.proxyProtocolVersion !== undefined;
  const ruleSetNames = listRuleSets(desired, port);
  return {
    ...body,
    ...(hasConnectionSettings || whole
      ? { connectionConfiguration: buildConnectionConfiguration(desired, port) }
      : {}),
    ...(ruleSetNames.length > 0 || whole ? { ruleSetNames } : {}),
  };
}

/** Builds a listener's idle timeout and proxy protocol settings. */
export function buildConnectionConfiguration(
  { annotationSettings }: DesiredState,
  { listenerProtocol }: Pick<DesiredPort, "listenerProtocol">,
): { readonly idleTimeout: number; readonly backendTcpProxyProtocolVersion?: number } {
  const version = annotationSettings.proxyProtocolVersion;
  return {
    idleTimeout: annotationSettings.idleTimeout ?? getDefaultIdleTimeout(listenerProtocol),
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
  desired: DesiredState,
  addresses: BackendAddresses,
  chosen: {
    readonly subnets: readonly string[];
    readonly groups: readonly string[];
    readonly reservedIp: string | undefined;
    readonly tags: object;
  },
): Readonly<Record<string, unknown>> {
  const { kind, ports, families, annotationSettings } = desired;
  const [subnetId] = chosen.subnets;
  return {
    compartmentId: desired.compartment,
    displayName: desired.displayName,
    isPrivate: desired.isPrivate,
    ...(kind === "lb" ? { ...desired.shape, subnetIds: chosen.subnets } : { subnetId }),
    ...(kind === "lb"
      ? families[0] === "IPv6"
        ? { ipMode: "IPV6" }
        : {}
      : { nlbIpVersion: toNlbIpVersion(families) }),
    backendSets: Object.fromEntries(
      ports.map((port) => [port.backendSet, buildBackendSet(desired, port, addresses)]),
    ),
    listeners: Object.fromEntries(ports.map((port) => [port.listener, buildListener(desired, port)])),
    ...(Object.keys(desired.ruleSets).length > 0 ? { ruleSets: desired.ruleSets } : {}),
    ...(chosen.groups.length > 0 ? { networkSecurityGroupIds: chosen.groups } : {}),
    ...(chosen.reservedIp === undefined ? {} : { reservedIps: [{ id: chosen.reservedIp }] }),
    ...(annotationSettings.assignedPrivateIPv4 === undefined
      ? {}
      : { assignedPrivateIpv4: annotationSettings.assignedPrivateIPv4 }),
    ...(annotationSettings.assignedIPv6 === undefined
      ? {}
      : { assignedIpv6: annotationSettings.assignedIPv6 }),
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
