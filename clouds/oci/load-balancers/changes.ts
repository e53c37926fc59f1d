import { normalizeItems } from "#clouds/oci/load-balancers/annotations/rule-sets.ts";
import {
  type BackendAddresses,
  buildBackendSet,
  buildConnectionConfiguration,
  buildListener,
  formatBackendKey,
  getDefaultIdleTimeout,
  listRuleSets,
  toIpVersion,
} from "#clouds/oci/load-balancers/bodies.ts";
import type { DesiredState } from "#clouds/oci/load-balancers/desired-state/desired-state.ts";
import type { DesiredPort } from "#clouds/oci/load-balancers/desired-state/ports.ts";
import { isShaped } from "#clouds/oci/load-balancers/desired-state/shape.ts";
import type { BackendSet, Listener, ObservedBalancer } from "#clouds/oci/load-balancers/state.ts";
import { ORPHANED_TAG } from "#clouds/oci/load-balancers/tags.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** The desired state to compare. */
export interface ChangeTarget {
  readonly wanted: DesiredState;
  readonly addresses: BackendAddresses;
  /** Groups to attach; undefined if they were not read. */
  readonly groups: readonly string[] | undefined;
}

/**
 * Returns the next change, in an order in which no reference is ever broken. Obsolete listeners and backend
 * sets are removed first. Rule sets, backend sets, listeners, the shape and the groups follow.
 */
export function planNextChange(target: ChangeTarget, seen: ObservedBalancer): LoadBalancerAction | undefined {
  return changesOf(target, seen).next().value;
}

/** Returns the next change of backends only. */
export function planNextBackendChange(
  target: ChangeTarget,
  seen: ObservedBalancer,
): LoadBalancerAction | undefined {
  for (const change of backendSets(target, seen, "backends")) return change;
  return undefined;
}

function* changesOf(target: ChangeTarget, seen: ObservedBalancer): Generator<LoadBalancerAction, undefined> {
  yield* superfluous(target, seen);
  yield* ruleSets(target, seen);
  yield* backendSets(target, seen, "all");
  yield* listeners(target, seen);
  yield* superfluousRuleSets(target, seen);
  yield* shapeAndGroups(target, seen);
  // A load balancer that serves a Service loses its orphan mark.
  if (seen.balancer.freeformTags?.[ORPHANED_TAG] !== undefined)
    yield buildAction(seen, "MarkLoadBalancer", {});
  return undefined;
}

function* superfluous({ wanted }: ChangeTarget, seen: ObservedBalancer): Generator<LoadBalancerAction> {
  const { listeners, backendSets } = seen.balancer;
  const wantedListeners = new Map(wanted.ports.map((port) => [port.listener, port]));
  for (const [name, listener] of sortEntries(listeners)) {
    const port = wantedListeners.get(name);
    // Two listeners cannot share a port: one with an obsolete name is removed first.
    if (port === undefined || listener.port !== port.port)
      yield buildAction(seen, "DeleteListener", { name });
  }
  const used = Object.values(listeners ?? {}).map(({ defaultBackendSetName }) => defaultBackendSetName);
  const kept = new Set([...wanted.ports.map(({ backendSet }) => backendSet), ...used]);
  for (const [name] of sortEntries(backendSets))
    if (!kept.has(name)) yield buildAction(seen, "DeleteBackendSet", { name });
}

function* ruleSets({ wanted }: ChangeTarget, seen: ObservedBalancer): Generator<LoadBalancerAction> {
  const there = new Map(Object.entries(seen.balancer.ruleSets ?? {}));
  for (const [name, { items }] of sortEntries(wanted.ruleSets)) {
    const before = there.get(name);
    if (before === undefined) yield buildAction(seen, "CreateRuleSet", { body: { name, items } });
    else if (formatCanonicalJson(normalizeItems(before.items)) !== formatCanonicalJson(normalizeItems(items)))
      yield buildAction(seen, "UpdateRuleSet", { name, body: { items } });
  }
}

/** Yields rule sets that no listener uses. */
function* superfluousRuleSets(
  { wanted }: ChangeTarget,
  seen: ObservedBalancer,
): Generator<LoadBalancerAction> {
  for (const [name] of sortEntries(seen.balancer.ruleSets))
    if (!Object.hasOwn(wanted.ruleSets, name)) yield buildAction(seen, "DeleteRuleSet", { name });
}

function* backendSets(
  { wanted, addresses }: ChangeTarget,
  seen: ObservedBalancer,
  what: "all" | "backends",
): Generator<LoadBalancerAction> {
  for (const port of wanted.ports) {
    const name = port.backendSet;
    const there = seen.balancer.backendSets?.[name];
    const body = buildBackendSet(wanted, port, addresses, there);
    if (there === undefined) {
      if (what === "all") yield buildAction(seen, "CreateBackendSet", { body: { name, ...body } });
    } else if (
      !hasBackends(there, port, addresses) ||
      (what === "all" && !isBackendSet(there, wanted, port))
    ) {
      yield buildAction(seen, "UpdateBackendSet", { name, body });
    }
  }
}

function* listeners({ wanted }: ChangeTarget, seen: ObservedBalancer): Generator<LoadBalancerAction> {
  for (const port of wanted.ports) {
    const name = port.listener;
    const there = seen.balancer.listeners?.[name];
    if (there === undefined)
      yield buildAction(seen, "CreateListener", { body: { name, ...buildListener(wanted, port) } });
    else if (!isListener(there, wanted, port)) {
      const { name: _, ...body } = buildListener(wanted, port, true);
      yield buildAction(seen, "UpdateListener", { name, body });
    }
  }
}

function* shapeAndGroups(
  { wanted, groups }: ChangeTarget,
  seen: ObservedBalancer,
): Generator<LoadBalancerAction> {
  const { balancer, kind } = seen;
  if (kind === "lb" && !isShaped(wanted.shape, balancer))
    yield buildAction(seen, "UpdateLoadBalancerShape", { body: { ...wanted.shape } });
  const attached = [...(balancer.networkSecurityGroupIds ?? [])].sort();
  if (groups !== undefined && formatCanonicalJson(attached) !== formatCanonicalJson([...groups].sort()))
    yield buildAction(seen, "UpdateNetworkSecurityGroups", { body: { networkSecurityGroupIds: groups } });
}

function hasBackends(there: BackendSet, port: DesiredPort, addresses: BackendAddresses): boolean {
  const wanted = new Set(
    addresses[port.family].map((ipAddress) => formatBackendKey({ ipAddress, port: port.nodePort })),
  );
  const backends = new Set((there.backends ?? []).map(formatBackendKey));
  return wanted.size === backends.size && [...wanted].every((key) => backends.has(key));
}

function isBackendSet(there: BackendSet, wanted: DesiredState, port: DesiredPort): boolean {
  const { healthCheck } = wanted;
  const isChecked = (Object.keys(healthCheck) as (keyof typeof healthCheck)[]).every(
    (key) => there.healthChecker[key] === healthCheck[key],
  );
  const isOfKind =
    wanted.kind === "lb" ||
    ((there.isPreserveSource ?? false) === wanted.preservesSource &&
      (there.ipVersion ?? "IPV4") === toIpVersion(port.family));
  return isChecked && isOfKind && there.policy === wanted.policy;
}

function isListener(there: Listener, wanted: DesiredState, port: DesiredPort): boolean {
  if (there.defaultBackendSetName !== port.backendSet || there.protocol !== port.listenerProtocol)
    return false;
  if (wanted.kind === "nlb")
    return (
      (there.isPpv2Enabled ?? false) === (wanted.said.isPpv2Enabled ?? false) &&
      (there.ipVersion ?? "IPV4") === toIpVersion(port.family)
    );
  const { idleTimeout, backendTcpProxyProtocolVersion } = there.connectionConfiguration ?? {};
  const connection = buildConnectionConfiguration(wanted, port);
  return (
    (idleTimeout ?? getDefaultIdleTimeout(there.protocol)) === connection.idleTimeout &&
    (backendTcpProxyProtocolVersion ?? 0) === (connection.backendTcpProxyProtocolVersion ?? 0) &&
    formatCanonicalJson([...(there.ruleSetNames ?? [])].sort()) ===
      formatCanonicalJson(listRuleSets(wanted, port))
  );
}

/**
 * Builds an action on a load balancer, which is rejected if the load balancer changed since the observation.
 */
export function buildAction(
  { kind, balancer, etag }: ObservedBalancer,
  operation: string,
  parameters: { readonly name?: string; readonly body?: unknown },
): LoadBalancerAction {
  return {
    action: `${kind}:${operation}`,
    target: balancer.id,
    parameters: { ...parameters, ...(etag === undefined ? {} : { etag }) },
  };
}

function sortEntries<Value>(
  record: Readonly<Record<string, Value>> | null | undefined,
): readonly (readonly [string, Value])[] {
  return Object.entries(record ?? {}).toSorted(([one], [other]) => (one < other ? -1 : 1));
}
