import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import {
  Balancer,
  CattleState,
  External,
  formatBalancerName,
  formatExternalName,
  type PortRule,
  STACK,
} from "#clouds/rancher/cattle/load-balancers/state.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type {
  Issue,
  LoadBalancerAction,
  LoadBalancerModel,
  LoadBalancerQuestion,
  LoadBalancerStep,
} from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** Rancher shows that an action is done by offering the next one; each round does one step. */
const RETRY_SECONDS = 5;

const REMOVED_STATES: ReadonlySet<string> = new Set(["removing", "purging", "removed", "purged"]);

/**
 * The load balancer model of a Rancher 1.x environment: one with a rule for each port and node, and a service
 * for each node.
 */
export const cattleLoadBalancerModel: LoadBalancerModel = {
  precheck({ service, wanted }, { cloud }) {
    // Load balancers of K3s and RKE2 belong to ServiceLB, or to another controller in the cluster.
    if (cloud["mode"] !== "cattle") return { kind: "foreign" };
    const issue = wanted ? checkPorts(service) : undefined;
    return issue === undefined ? undefined : { kind: "refused", issue };
  },
  planStep(question, observed) {
    const state = CattleState.parse(observed);
    const [balancer, second] = state.balancers;
    if (second !== undefined) return { kind: "refused", issue: { code: "AmbiguousLoadBalancer" } };
    if (balancer !== undefined && REMOVED_STATES.has(balancer.state))
      return waitFor("the load balancer to be gone");
    if (!question.wanted) return remove(balancer, state);
    if (balancer === undefined) return buildCreate(question, state);
    const ports = balancer.ports?.toSorted() ?? formatPorts(question.service);
    if (formatCanonicalJson(ports) !== formatCanonicalJson(formatPorts(question.service)))
      return act("DeleteLoadBalancer", "its ports have changed", [buildDelete(balancer)]);
    return ensure(question, balancer, state);
  },
  applyResult(observed, { action, target, parameters }, result) {
    const state = CattleState.parse(observed);
    switch (action) {
      case "CreateStack":
        return { ...state, stackId: target === STACK.name ? (result as { id: string }).id : state.stackId };
      case "CreateExternalService":
      case "ActivateExternalService": {
        const changed = External.parse(result);
        return { ...state, externals: [...state.externals.filter(({ id }) => id !== changed.id), changed] };
      }
      case "DeleteExternalService":
        return {
          ...state,
          externals: state.externals.filter(({ id }) => id !== target),
          consumed: state.consumed.filter((id) => id !== target),
        };
      case "DeleteLoadBalancer":
        return {
          ...state,
          balancers: state.balancers.map((each) => ({ ...each, state: "removing", actions: {} })),
        };
      case "SetServiceLinks":
        return { ...state, balancers: [Balancer.parse(result)], consumed: parameters["serviceIds"] };
      default:
        return { ...state, balancers: [Balancer.parse(result)] };
    }
  },
  isVisible: (_question, observed) => CattleState.parse(observed).balancers.length > 0,
  listLostTargets({ nodes }, observed) {
    const { externals } = CattleState.parse(observed);
    const names = new Set(nodes.filter(isTarget).map(({ name }) => formatExternalName(name)));
    // Rancher's name of a node is derived from the node's own name.
    return externals.some(({ name }) => !names.has(name)) ? [undefined] : [];
  },
  isShared: ({ action }) => action === "CreateStack" || action.endsWith("ExternalService"),
  describeDesired: (service) => JSON.stringify([formatPorts(service), buildRules(service, "")]),
  getTarget: ({ name, providerID }) =>
    providerID?.startsWith("rancher://") ? `${formatExternalName(name)} ${providerID}` : undefined,
};

/** Describes a Service's resources in a Rancher 1.x environment for people. */
export function describeOnCattle(observed: unknown): DescribedLoadBalancer {
  const { balancers, consumed } = CattleState.parse(observed);
  if (balancers.length === 0) return { belongsTo: "none", lines: [] };
  const lines = balancers.flatMap(({ id, name, state, addresses, portRules }) => [
    `load balancer ${name} (${id}): ${state}`,
    `at ${addresses.length === 0 ? "no address yet" : addresses.join(" and ")}`,
    ...[
      ...new Set(
        portRules.map((rule) => `rule ${rule.protocol}:${rule.sourcePort} to node port ${rule.targetPort}`),
      ),
    ],
  ]);
  return { belongsTo: "service", lines: [...lines, `nodes: ${consumed.length}`] };
}

function buildCreate({ service }: LoadBalancerQuestion, { stackId, image }: CattleState): LoadBalancerStep {
  if (stackId === null) {
    return act("CreateStack", STACK.name, [
      { action: "CreateStack", target: STACK.name, parameters: { ...STACK } },
    ]);
  }
  const name = formatBalancerName(service);
  const parameters = { name, stackId, image, ports: formatPorts(service) };
  return act("CreateLoadBalancer", name, [{ action: "CreateLoadBalancer", target: name, parameters }]);
}

/**
 * Creates nodes first, then the load balancer, then its rules; each step waits for the actions that Rancher
 * offers next.
 */
function ensure(question: LoadBalancerQuestion, balancer: Balancer, state: CattleState): LoadBalancerStep {
  const { externals, hosts, stackId } = state;
  const names = new Set(question.nodes.filter(isTarget).map(({ name }) => formatExternalName(name)));
  const desiredExternals = externals
    .filter(({ name }) => names.has(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const missing = [...names].filter((name) => !externals.some((each) => each.name === name)).toSorted();
  const creations = missing.flatMap((name): LoadBalancerAction[] => {
    const address = Object.hasOwn(hosts, name) ? hosts[name] : undefined;
    if (address === undefined) return [];
    return [{ action: "CreateExternalService", target: name, parameters: { name, stackId, address } }];
  });
  if (hasItems(creations)) return act("CreateExternalService", `${creations.length} nodes`, creations);
  const activations = desiredExternals.flatMap(({ id, actions }): LoadBalancerAction[] =>
    actions["activate"] === undefined
      ? []
      : [{ action: "ActivateExternalService", target: id, parameters: { url: actions["activate"] } }],
  );
  if (hasItems(activations))
    return act("ActivateExternalService", `${activations.length} nodes`, activations);
  const links = balancer.actions["setservicelinks"];
  if (links === undefined) return waitFor(`the load balancer, which is ${balancer.state}`);
  const deletions = externals
    .filter(({ name }) => !names.has(name))
    .filter((external) => isUsedOnlyBy(external, balancer))
    .map(buildDeletion);
  if (hasItems(deletions)) return act("DeleteExternalService", `${deletions.length} nodes`, deletions);
  const serviceIds = desiredExternals.map(({ id }) => id);
  if (formatCanonicalJson(serviceIds.toSorted()) !== formatCanonicalJson(state.consumed.toSorted())) {
    const parameters = { url: links, serviceIds };
    return act("SetServiceLinks", `${serviceIds.length} nodes`, [
      { action: "SetServiceLinks", target: balancer.id, parameters },
    ]);
  }
  const rules = desiredExternals.flatMap(({ id }) => buildRules(question.service, id));
  if (!isSameRules(rules, balancer.portRules)) {
    const parameters = { url: balancer.self, portRules: rules };
    return act("UpdateLoadBalancer", `${rules.length} rules`, [
      { action: "UpdateLoadBalancer", target: balancer.id, parameters },
    ]);
  }
  return activate(balancer, desiredExternals);
}

/** An active service is one that can be deactivated. */
function activate(
  { id, state, actions, addresses }: Balancer,
  externals: readonly External[],
): LoadBalancerStep {
  if (actions["deactivate"] === undefined) {
    const url = actions["activate"];
    if (url === undefined) return waitFor(`the load balancer, which is ${state}`);
    return act("ActivateLoadBalancer", id, [
      { action: "ActivateLoadBalancer", target: id, parameters: { url } },
    ]);
  }
  const inactive = externals.find((external) => external.actions["deactivate"] === undefined);
  if (inactive !== undefined) return waitFor(`${inactive.name}, which is ${inactive.state}`);
  if (addresses.length === 0) return waitFor("the load balancer to have an address");
  return { kind: "settled", ingress: addresses.map((ip) => ({ ip })), warnings: [] };
}

/**
 * Removes the load balancer first, then the services that nothing uses any more. If several are removed at
 * once, the last one sees that. A service that a new load balancer is about to use is created again.
 */
function remove(balancer: Balancer | undefined, { externals }: CattleState): LoadBalancerStep {
  if (balancer !== undefined) return act("DeleteLoadBalancer", balancer.name, [buildDelete(balancer)]);
  const deletions = externals.filter(({ consumers }) => consumers?.length === 0).map(buildDeletion);
  return hasItems(deletions)
    ? act("DeleteExternalService", `${deletions.length} nodes`, deletions)
    : NOTHING_LEFT;
}

function isTarget({ providerID }: { readonly providerID?: string | undefined }): boolean {
  return providerID?.startsWith("rancher://") ?? false;
}

function isUsedOnlyBy({ consumers }: External, { id }: Balancer): boolean {
  return consumers?.every((each) => each === id) ?? false;
}

function buildDelete({ id, self }: Balancer): LoadBalancerAction {
  return { action: "DeleteLoadBalancer", target: id, parameters: { url: self } };
}

function buildDeletion({ id, self }: External): LoadBalancerAction {
  return { action: "DeleteExternalService", target: id, parameters: { url: self } };
}

function hasItems<Item>(items: readonly Item[]): items is readonly [Item, ...Item[]] {
  return items.length > 0;
}

function act(
  code: string,
  message: string,
  actions: readonly [LoadBalancerAction, ...LoadBalancerAction[]],
): LoadBalancerStep {
  return { kind: "act", because: { code, message }, actions };
}

function waitFor(subject: string): LoadBalancerStep {
  return {
    kind: "wait",
    because: { code: "RancherAtIt", message: `waiting for ${subject}` },
    afterSeconds: RETRY_SECONDS,
  };
}

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };

/**
 * Returns which part of a Service no load balancer of Rancher 1.x supports; undefined if all are supported.
 */
function checkPorts({ spec }: Service): Issue | undefined {
  const { ports = [], loadBalancerIP, sessionAffinity } = spec;
  if (loadBalancerIP)
    return {
      code: "LoadBalancerIP",
      field: "spec.loadBalancerIP",
      value: loadBalancerIP,
      allowed: "an empty field",
    };
  if (sessionAffinity !== undefined && sessionAffinity !== "None")
    return { code: "SessionAffinity", field: "spec.sessionAffinity", value: sessionAffinity };
  if (ports.length === 0) return { code: "NoPorts", field: "spec.ports" };
  for (const [index, { protocol, nodePort }] of ports.entries()) {
    const field = `spec.ports[${index}]`;
    if (protocol !== "TCP")
      return { code: "UnsupportedProtocol", field: `${field}.protocol`, value: protocol, allowed: "TCP" };
    if (!nodePort) return { code: "NoNodePort", field: `${field}.nodePort` };
  }
  return undefined;
}

/** Formats the ports at a load balancer's creation; other ports need a new load balancer. */
function formatPorts({ spec: { ports = [] } }: Service): string[] {
  return ports.map(({ port }) => `${port}:${port}/tcp`).toSorted();
}

/** Builds the rules that forward these ports to one external service. */
function buildRules({ spec: { ports = [] } }: Service, serviceId: string): PortRule[] {
  return ports.map(({ port, nodePort = 0 }) => ({
    sourcePort: port,
    targetPort: nodePort,
    serviceId,
    protocol: "tcp",
  }));
}

/** Compares rules in any order. */
function isSameRules(one: readonly PortRule[], other: readonly PortRule[]): boolean {
  const texts = (rules: readonly PortRule[]): string[] =>
    rules.map((rule) => formatCanonicalJson(rule)).toSorted();
  return formatCanonicalJson(texts(one)) === formatCanonicalJson(texts(other));
}
