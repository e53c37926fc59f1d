import { normalizeItems } from "#clouds/oci/load-balancers/annotations/rule-sets.ts";
import {
  type BackendAddresses,
  buildBackendSet,
  buildBackendsUpdate,
  buildConnectionConfiguration,
  buildListener,
  formatBackendKey,
  getDefaultIdleTimeout,
  listRuleSets,
  selectAddresses,
  toIpVersion,
} from "#clouds/oci/load-balancers/bodies.ts";
import { type DesiredState, isShaped } from "#clouds/oci/load-balancers/desired-state/desired-state.ts";
import type { DesiredPort } from "#clouds/oci/load-balancers/desired-state/ports.ts";
import type { BackendSet, Listener, ObservedBalancer } from "#clouds/oci/load-balancers/state.ts";
import { ORPHANED_TAG } from "#clouds/oci/load-balancers/tags.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** The desired state to compare. */
export interface ChangeTarget {
  readonly desired: DesiredState;
  readonly addresses: BackendAddresses;
  /** Groups to attach. */
  readonly groups: readonly string[];
}

/**
 * Returns the next change, in an order in which no reference is ever broken. Backends come first: no other
 * change that OCI rejects keeps traffic away from the nodes. Rule sets come before listeners are removed,
 * because OCI may reject what a user writes in them, and security groups before all that. Obsolete listeners
 * and backend sets are removed next. Backend sets, listeners and the shape follow.
 */
export function planNextChange(
  target: ChangeTarget,
  observed: ObservedBalancer,
): LoadBalancerAction | undefined {
  return listChanges(target, observed).next().value;
}

/** The backends of existing sets to compare. */
export interface BackendTarget {
  readonly ports: readonly DesiredPort[];
  readonly addresses: BackendAddresses;
  /** Sets that send to another node port wait: security rules may not allow the new one yet. */
  readonly keepsNodePorts?: true;
}

/** Returns the next change of backends only. All other settings of a set stay as OCI shows them. */
export function planNextBackendChange(
  target: BackendTarget,
  observed: ObservedBalancer,
): LoadBalancerAction | undefined {
  for (const change of changeBackends(target, observed)) return change;
  return undefined;
}

function* listChanges(
  target: ChangeTarget,
  observed: ObservedBalancer,
): Generator<LoadBalancerAction, undefined> {
  yield* changeBackends({ ports: target.desired.ports, addresses: target.addresses }, observed);
  yield* changeGroups(target, observed);
  yield* changeRuleSets(target, observed);
  yield* deleteUnusedParts(target, observed);
  yield* changeBackendSets(target, observed);
  yield* changeListeners(target, observed);
  yield* deleteUnusedRuleSets(target, observed);
  yield* changeShape(target, observed);
  // A load balancer that serves a Service loses its orphan mark.
  if (observed.balancer.freeformTags?.[ORPHANED_TAG] !== undefined)
    yield buildAction(observed, "MarkLoadBalancer", {});
  return undefined;
}

function* changeBackends(
  { ports, addresses, keepsNodePorts }: BackendTarget,
  observed: ObservedBalancer,
): Generator<LoadBalancerAction> {
  for (const port of ports) {
    const name = port.backendSet;
    const current = observed.balancer.backendSets?.[name];
    if (current === undefined || hasBackends(current, port, addresses)) continue;
    if (keepsNodePorts === true && (current.backends ?? []).some((backend) => backend.port !== port.nodePort))
      continue;
    const body = buildBackendsUpdate(observed.kind, port, addresses, current);
    yield buildAction(observed, "UpdateBackendSet", { name, body });
  }
}

function* deleteUnusedParts(
  { desired }: ChangeTarget,
  observed: ObservedBalancer,
): Generator<LoadBalancerAction> {
  const { listeners, backendSets } = observed.balancer;
  const desiredPorts = new Map(desired.ports.map((port) => [port.listener, port]));
  for (const [name, listener] of sortEntries(listeners)) {
    const port = desiredPorts.get(name);
    // Two listeners cannot share a port: one with an obsolete name is removed first.
    if (port === undefined || listener.port !== port.port)
      yield buildAction(observed, "DeleteListener", { name });
  }
  const used = Object.values(listeners ?? {}).map(({ defaultBackendSetName }) => defaultBackendSetName);
  const usedBackendSets = new Set([...desired.ports.map(({ backendSet }) => backendSet), ...used]);
  for (const [name] of sortEntries(backendSets))
    if (!usedBackendSets.has(name)) yield buildAction(observed, "DeleteBackendSet", { name });
}

function* changeRuleSets(
  { desired }: ChangeTarget,
  observed: ObservedBalancer,
): Generator<LoadBalancerAction> {
  const currentRuleSets = new Map(Object.entries(observed.balancer.ruleSets ?? {}));
  for (const [name, { items }] of sortEntries(desired.ruleSets)) {
    const current = currentRuleSets.get(name);
    if (current === undefined) yield buildAction(observed, "CreateRuleSet", { body: { name, items } });
    else if (
      formatCanonicalJson(normalizeItems(current.items)) !== formatCanonicalJson(normalizeItems(items))
    )
      yield buildAction(observed, "UpdateRuleSet", { name, body: { items } });
  }
}

/** Deletes rule sets that no listener uses. */
function* deleteUnusedRuleSets(
  { desired }: ChangeTarget,
  observed: ObservedBalancer,
): Generator<LoadBalancerAction> {
  for (const [name] of sortEntries(observed.balancer.ruleSets))
    if (!Object.hasOwn(desired.ruleSets, name)) yield buildAction(observed, "DeleteRuleSet", { name });
}

function* changeBackendSets(
  { desired, addresses }: ChangeTarget,
  observed: ObservedBalancer,
): Generator<LoadBalancerAction> {
  for (const port of desired.ports) {
    const name = port.backendSet;
    const current = observed.balancer.backendSets?.[name];
    const body = buildBackendSet(desired, port, addresses, current);
    if (current === undefined) yield buildAction(observed, "CreateBackendSet", { body: { name, ...body } });
    else if (!isBackendSet(current, desired, port))
      yield buildAction(observed, "UpdateBackendSet", { name, body });
  }
}

function* changeListeners(
  { desired }: ChangeTarget,
  observed: ObservedBalancer,
): Generator<LoadBalancerAction> {
  for (const port of desired.ports) {
    const name = port.listener;
    const current = observed.balancer.listeners?.[name];
    if (current === undefined)
      yield buildAction(observed, "CreateListener", { body: { name, ...buildListener(desired, port) } });
    else if (!isListener(current, desired, port)) {
      const { name: _, ...body } = buildListener(desired, port, true);
      yield buildAction(observed, "UpdateListener", { name, body });
    }
  }
}

function* changeShape({ desired }: ChangeTarget, observed: ObservedBalancer): Generator<LoadBalancerAction> {
  if (observed.kind === "lb" && !isShaped(desired.shape, observed.balancer))
    yield buildAction(observed, "UpdateLoadBalancerShape", { body: { ...desired.shape } });
}

function* changeGroups({ groups }: ChangeTarget, observed: ObservedBalancer): Generator<LoadBalancerAction> {
  const attached = [...(observed.balancer.networkSecurityGroupIds ?? [])].sort();
  if (formatCanonicalJson(attached) !== formatCanonicalJson([...groups].sort()))
    yield buildAction(observed, "UpdateNetworkSecurityGroups", { body: { networkSecurityGroupIds: groups } });
}

function hasBackends(current: BackendSet, port: DesiredPort, addresses: BackendAddresses): boolean {
  const desiredKeys = new Set(
    selectAddresses(addresses, port, current).map((ipAddress) =>
      formatBackendKey({ ipAddress, port: port.nodePort }),
    ),
  );
  const currentKeys = new Set((current.backends ?? []).map(formatBackendKey));
  return desiredKeys.size === currentKeys.size && [...desiredKeys].every((key) => currentKeys.has(key));
}

function isBackendSet(current: BackendSet, desired: DesiredState, port: DesiredPort): boolean {
  const { healthCheck } = desired;
  const isChecked = (Object.keys(healthCheck) as (keyof typeof healthCheck)[]).every(
    (key) => current.healthChecker[key] === healthCheck[key],
  );
  const isOfKind =
    desired.kind === "lb" ||
    ((current.isPreserveSource ?? false) === desired.preservesSource &&
      (current.ipVersion ?? "IPV4") === toIpVersion(port.family));
  return isChecked && isOfKind && current.policy === desired.policy;
}

function isListener(current: Listener, desired: DesiredState, port: DesiredPort): boolean {
  if (current.defaultBackendSetName !== port.backendSet || current.protocol !== port.listenerProtocol)
    return false;
  if (desired.kind === "nlb")
    return (
      (current.isPpv2Enabled ?? false) === (desired.annotationSettings.isPpv2Enabled ?? false) &&
      (current.ipVersion ?? "IPV4") === toIpVersion(port.family)
    );
  const { idleTimeout, backendTcpProxyProtocolVersion } = current.connectionConfiguration ?? {};
  const connection = buildConnectionConfiguration(desired, port);
  return (
    (idleTimeout ?? getDefaultIdleTimeout(current.protocol)) === connection.idleTimeout &&
    (backendTcpProxyProtocolVersion ?? 0) === (connection.backendTcpProxyProtocolVersion ?? 0) &&
    formatCanonicalJson([...(current.ruleSetNames ?? [])].sort()) ===
      formatCanonicalJson(listRuleSets(desired, port))
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
