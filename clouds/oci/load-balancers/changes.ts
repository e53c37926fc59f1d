import { saidByItems } from "#clouds/oci/load-balancers/annotations/rule-sets.ts";
import {
  type BackendAddresses,
  backendKey,
  backendSetBody,
  connectionOf,
  defaultIdleTimeout,
  ipVersionOf,
  listenerBody,
  ruleSetsOf,
} from "#clouds/oci/load-balancers/bodies.ts";
import type { BackendSet, Listener, SeenBalancer } from "#clouds/oci/load-balancers/state.ts";
import { ORPHANED_TAG } from "#clouds/oci/load-balancers/tags.ts";
import type { WantedPort } from "#clouds/oci/load-balancers/wanted/ports.ts";
import { isShaped } from "#clouds/oci/load-balancers/wanted/shape.ts";
import type { Wanted } from "#clouds/oci/load-balancers/wanted/wanted.ts";
import { canonicalJson } from "#core/hash.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** What is compared with what is there. */
export interface Target {
  readonly wanted: Wanted;
  readonly addresses: BackendAddresses;
  /** Groups that are to be attached; undefined where they are not looked at. */
  readonly groups: readonly string[] | undefined;
}

/**
 * The one change that comes next, in the order in which nothing refers to what is not there: listeners and backend sets that are too
 * many go, then rule sets, backend sets, listeners, the shape and the groups become what they are to be.
 */
export function nextChange(target: Target, seen: SeenBalancer): LoadBalancerAction | undefined {
  return changesOf(target, seen).next().value;
}

/** The change of backends alone. */
export function nextChangeOfBackends(target: Target, seen: SeenBalancer): LoadBalancerAction | undefined {
  for (const change of backendSets(target, seen, "backends")) return change;
  return undefined;
}

function* changesOf(target: Target, seen: SeenBalancer): Generator<LoadBalancerAction, undefined> {
  yield* superfluous(target, seen);
  yield* ruleSets(target, seen);
  yield* backendSets(target, seen, "all");
  yield* listeners(target, seen);
  yield* superfluousRuleSets(target, seen);
  yield* shapeAndGroups(target, seen);
  // Whoever serves a Service by it takes off that it has none.
  if (seen.balancer.freeformTags?.[ORPHANED_TAG] !== undefined) yield action(seen, "MarkLoadBalancer", {});
  return undefined;
}

function* superfluous({ wanted }: Target, seen: SeenBalancer): Generator<LoadBalancerAction> {
  const { listeners, backendSets } = seen.balancer;
  const wantedListeners = new Map(wanted.ports.map((port) => [port.listener, port]));
  for (const [name, listener] of sorted(listeners)) {
    const port = wantedListeners.get(name);
    // No two listeners are on one port: what is called otherwise makes room first.
    if (port === undefined || listener.port !== port.port) yield action(seen, "DeleteListener", { name });
  }
  const used = Object.values(listeners ?? {}).map(({ defaultBackendSetName }) => defaultBackendSetName);
  const kept = new Set([...wanted.ports.map(({ backendSet }) => backendSet), ...used]);
  for (const [name] of sorted(backendSets))
    if (!kept.has(name)) yield action(seen, "DeleteBackendSet", { name });
}

function* ruleSets({ wanted }: Target, seen: SeenBalancer): Generator<LoadBalancerAction> {
  const there = new Map(Object.entries(seen.balancer.ruleSets ?? {}));
  for (const [name, { items }] of sorted(wanted.ruleSets)) {
    const before = there.get(name);
    if (before === undefined) yield action(seen, "CreateRuleSet", { body: { name, items } });
    else if (canonicalJson(saidByItems(before.items)) !== canonicalJson(saidByItems(items)))
      yield action(seen, "UpdateRuleSet", { name, body: { items } });
  }
}

/** Those that no listener refers to any more. */
function* superfluousRuleSets({ wanted }: Target, seen: SeenBalancer): Generator<LoadBalancerAction> {
  for (const [name] of sorted(seen.balancer.ruleSets))
    if (!Object.hasOwn(wanted.ruleSets, name)) yield action(seen, "DeleteRuleSet", { name });
}

function* backendSets(
  { wanted, addresses }: Target,
  seen: SeenBalancer,
  what: "all" | "backends",
): Generator<LoadBalancerAction> {
  for (const port of wanted.ports) {
    const name = port.backendSet;
    const there = seen.balancer.backendSets?.[name];
    const body = backendSetBody(wanted, port, addresses, there);
    if (there === undefined) {
      if (what === "all") yield action(seen, "CreateBackendSet", { body: { name, ...body } });
    } else if (
      !hasBackends(there, port, addresses) ||
      (what === "all" && !isBackendSet(there, wanted, port))
    ) {
      yield action(seen, "UpdateBackendSet", { name, body });
    }
  }
}

function* listeners({ wanted }: Target, seen: SeenBalancer): Generator<LoadBalancerAction> {
  for (const port of wanted.ports) {
    const name = port.listener;
    const there = seen.balancer.listeners?.[name];
    if (there === undefined)
      yield action(seen, "CreateListener", { body: { name, ...listenerBody(wanted, port) } });
    else if (!isListener(there, wanted, port)) {
      const { name: _, ...body } = listenerBody(wanted, port, true);
      yield action(seen, "UpdateListener", { name, body });
    }
  }
}

function* shapeAndGroups({ wanted, groups }: Target, seen: SeenBalancer): Generator<LoadBalancerAction> {
  const { balancer, kind } = seen;
  if (kind === "lb" && !isShaped(wanted.shape, balancer))
    yield action(seen, "UpdateLoadBalancerShape", { body: { ...wanted.shape } });
  const attached = [...(balancer.networkSecurityGroupIds ?? [])].sort();
  if (groups !== undefined && canonicalJson(attached) !== canonicalJson([...groups].sort()))
    yield action(seen, "UpdateNetworkSecurityGroups", { body: { networkSecurityGroupIds: groups } });
}

function hasBackends(there: BackendSet, port: WantedPort, addresses: BackendAddresses): boolean {
  const wanted = new Set(
    addresses[port.family].map((ipAddress) => backendKey({ ipAddress, port: port.nodePort })),
  );
  const backends = new Set((there.backends ?? []).map(backendKey));
  return wanted.size === backends.size && [...wanted].every((key) => backends.has(key));
}

function isBackendSet(there: BackendSet, wanted: Wanted, port: WantedPort): boolean {
  const { healthCheck } = wanted;
  const isChecked = (Object.keys(healthCheck) as (keyof typeof healthCheck)[]).every(
    (key) => there.healthChecker[key] === healthCheck[key],
  );
  const isOfKind =
    wanted.kind === "lb" ||
    ((there.isPreserveSource ?? false) === wanted.preservesSource &&
      (there.ipVersion ?? "IPV4") === ipVersionOf(port.family));
  return isChecked && isOfKind && there.policy === wanted.policy;
}

function isListener(there: Listener, wanted: Wanted, port: WantedPort): boolean {
  if (there.defaultBackendSetName !== port.backendSet || there.protocol !== port.listenerProtocol)
    return false;
  if (wanted.kind === "nlb")
    return (
      (there.isPpv2Enabled ?? false) === (wanted.said.isPpv2Enabled ?? false) &&
      (there.ipVersion ?? "IPV4") === ipVersionOf(port.family)
    );
  const { idleTimeout, backendTcpProxyProtocolVersion } = there.connectionConfiguration ?? {};
  const connection = connectionOf(wanted, port);
  return (
    (idleTimeout ?? defaultIdleTimeout(there.protocol)) === connection.idleTimeout &&
    (backendTcpProxyProtocolVersion ?? 0) === (connection.backendTcpProxyProtocolVersion ?? 0) &&
    canonicalJson([...(there.ruleSetNames ?? [])].sort()) === canonicalJson(ruleSetsOf(wanted, port))
  );
}

/** An action on a load balancer, which is refused where somebody else has changed something since it was seen. */
export function action(
  { kind, balancer, etag }: SeenBalancer,
  operation: string,
  parameters: { readonly name?: string; readonly body?: unknown },
): LoadBalancerAction {
  return {
    action: `${kind}:${operation}`,
    target: balancer.id,
    parameters: { ...parameters, ...(etag === undefined ? {} : { etag }) },
  };
}

function sorted<Value>(
  record: Readonly<Record<string, Value>> | null | undefined,
): readonly (readonly [string, Value])[] {
  return Object.entries(record ?? {}).toSorted(([one], [other]) => (one < other ? -1 : 1));
}
