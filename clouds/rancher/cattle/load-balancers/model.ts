import { balancerName, externalName, STACK } from "#clouds/rancher/cattle/load-balancers/names.ts";
import { isSameRules, portsOf, problemWith, rulesOf } from "#clouds/rancher/cattle/load-balancers/ports.ts";
import { Balancer, CattleState, External } from "#clouds/rancher/cattle/load-balancers/state.ts";
import { canonicalJson } from "#core/hash.ts";
import type {
  LoadBalancerAction,
  LoadBalancerModel,
  LoadBalancerQuestion,
  LoadBalancerStep,
} from "#core/service/model.ts";

/** Rancher says when it has done something by offering the next action; one pass does one step. */
const AGAIN_SECONDS = 5;

const GOING: ReadonlySet<string> = new Set(["removing", "purging", "removed", "purged"]);

/** What load balancers are in an environment of Rancher 1.x: one with a rule for each port and node, and a service for each node. */
export const cattleLoadBalancerModel: LoadBalancerModel = {
  before({ service, wanted }, { cloud }) {
    // Load balancers of K3s and RKE2 are ServiceLB's, or somebody else's in the cluster.
    if (cloud["mode"] !== "cattle") return { kind: "elsewhere" };
    const problem = wanted ? problemWith(service) : undefined;
    return problem === undefined ? undefined : { kind: "refused", problem };
  },
  next(question, observed) {
    const state = CattleState.parse(observed);
    const [balancer, second] = state.balancers;
    if (second !== undefined) return { kind: "refused", problem: { code: "AmbiguousLoadBalancer" } };
    if (balancer !== undefined && GOING.has(balancer.state)) return waitFor("the load balancer to be gone");
    if (!question.wanted) return away(balancer, state);
    if (balancer === undefined) return make(question, state);
    const ports = balancer.ports?.toSorted() ?? portsOf(question.service);
    if (canonicalJson(ports) !== canonicalJson(portsOf(question.service)))
      return act("DeleteLoadBalancer", "its ports have changed", [deletion(balancer)]);
    return towards(question, balancer, state);
  },
  fold(observed, { action, target, parameters }, result) {
    const state = CattleState.parse(observed);
    switch (action) {
      case "CreateStack":
        return { ...state, stackId: target === STACK.name ? (result as { id: string }).id : state.stackId };
      case "CreateExternalService":
      case "ActivateExternalService": {
        const made = External.parse(result);
        return { ...state, externals: [...state.externals.filter(({ id }) => id !== made.id), made] };
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
  shows: (_question, observed) => CattleState.parse(observed).balancers.length > 0,
  lostTargets({ nodes }, observed) {
    const { externals } = CattleState.parse(observed);
    const names = new Set(nodes.filter(isTarget).map(({ name }) => externalName(name)));
    // Rancher knows a node by a name that is made of its own.
    return externals.some(({ name }) => !names.has(name)) ? [undefined] : [];
  },
  isShared: ({ action }) => action === "CreateStack" || action.endsWith("ExternalService"),
  desired: (service) => JSON.stringify([portsOf(service), rulesOf(service, "")]),
  targetOf: ({ name, providerID }) =>
    providerID?.startsWith("rancher://") ? `${externalName(name)} ${providerID}` : undefined,
};

function make({ service }: LoadBalancerQuestion, { stackId, image }: CattleState): LoadBalancerStep {
  if (stackId === null) {
    return act("CreateStack", STACK.name, [
      { action: "CreateStack", target: STACK.name, parameters: { ...STACK } },
    ]);
  }
  const name = balancerName(service);
  const parameters = { name, stackId, image, ports: portsOf(service) };
  return act("CreateLoadBalancer", name, [{ action: "CreateLoadBalancer", target: name, parameters }]);
}

/** Nodes first, then what sends to them, then the rules; each is waited for by the actions that Rancher offers next. */
function towards(question: LoadBalancerQuestion, balancer: Balancer, state: CattleState): LoadBalancerStep {
  const { externals, hosts, stackId } = state;
  const names = new Set(question.nodes.filter(isTarget).map(({ name }) => externalName(name)));
  const wanted = externals
    .filter(({ name }) => names.has(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const missing = [...names].filter((name) => !externals.some((each) => each.name === name)).toSorted();
  const creations = missing.flatMap((name): LoadBalancerAction[] => {
    const address = Object.hasOwn(hosts, name) ? hosts[name] : undefined;
    if (address === undefined) return [];
    return [{ action: "CreateExternalService", target: name, parameters: { name, stackId, address } }];
  });
  if (isSome(creations)) return act("CreateExternalService", `${creations.length} nodes`, creations);
  const activations = wanted.flatMap(({ id, actions }): LoadBalancerAction[] =>
    actions["activate"] === undefined
      ? []
      : [{ action: "ActivateExternalService", target: id, parameters: { url: actions["activate"] } }],
  );
  if (isSome(activations)) return act("ActivateExternalService", `${activations.length} nodes`, activations);
  const links = balancer.actions["setservicelinks"];
  if (links === undefined) return waitFor(`the load balancer, which is ${balancer.state}`);
  const deletions = externals
    .filter(({ name }) => !names.has(name))
    .filter((external) => isOnlyOf(external, balancer))
    .map(deletionOf);
  if (isSome(deletions)) return act("DeleteExternalService", `${deletions.length} nodes`, deletions);
  const serviceIds = wanted.map(({ id }) => id);
  if (canonicalJson(serviceIds.toSorted()) !== canonicalJson(state.consumed.toSorted())) {
    const parameters = { url: links, serviceIds };
    return act("SetServiceLinks", `${serviceIds.length} nodes`, [
      { action: "SetServiceLinks", target: balancer.id, parameters },
    ]);
  }
  const rules = wanted.flatMap(({ id }) => rulesOf(question.service, id));
  if (!isSameRules(rules, balancer.portRules)) {
    const parameters = { url: balancer.self, portRules: rules };
    return act("UpdateLoadBalancer", `${rules.length} rules`, [
      { action: "UpdateLoadBalancer", target: balancer.id, parameters },
    ]);
  }
  return up(balancer, wanted);
}

/** Active is what can be deactivated. */
function up({ id, state, actions, addresses }: Balancer, wanted: readonly External[]): LoadBalancerStep {
  if (actions["deactivate"] === undefined) {
    const url = actions["activate"];
    if (url === undefined) return waitFor(`the load balancer, which is ${state}`);
    return act("ActivateLoadBalancer", id, [
      { action: "ActivateLoadBalancer", target: id, parameters: { url } },
    ]);
  }
  const late = wanted.find((external) => external.actions["deactivate"] === undefined);
  if (late !== undefined) return waitFor(`${late.name}, which is ${late.state}`);
  if (addresses.length === 0) return waitFor("the load balancer to have an address");
  return { kind: "settled", ingress: addresses.map((ip) => ({ ip })), warnings: [] };
}

/**
 * The load balancer first, and once it is gone what nobody sends to any more: of several that go at once the last one sees that. What
 * is about to be sent to by a load balancer that is being made is made once more.
 */
function away(balancer: Balancer | undefined, { externals }: CattleState): LoadBalancerStep {
  if (balancer !== undefined) return act("DeleteLoadBalancer", balancer.name, [deletion(balancer)]);
  const deletions = externals.filter(({ consumers }) => consumers?.length === 0).map(deletionOf);
  return isSome(deletions)
    ? act("DeleteExternalService", `${deletions.length} nodes`, deletions)
    : NOTHING_LEFT;
}

function isTarget({ providerID }: { readonly providerID?: string | undefined }): boolean {
  return providerID?.startsWith("rancher://") ?? false;
}

function isOnlyOf({ consumers }: External, { id }: Balancer): boolean {
  return consumers?.every((each) => each === id) ?? false;
}

function deletion({ id, self }: Balancer): LoadBalancerAction {
  return { action: "DeleteLoadBalancer", target: id, parameters: { url: self } };
}

function deletionOf({ id, self }: External): LoadBalancerAction {
  return { action: "DeleteExternalService", target: id, parameters: { url: self } };
}

function isSome<Item>(items: readonly Item[]): items is readonly [Item, ...Item[]] {
  return items.length > 0;
}

function act(
  code: string,
  message: string,
  actions: readonly [LoadBalancerAction, ...LoadBalancerAction[]],
): LoadBalancerStep {
  return { kind: "act", because: { code, message }, actions };
}

function waitFor(what: string): LoadBalancerStep {
  return {
    kind: "wait",
    because: { code: "RancherAtIt", message: `waiting for ${what}` },
    afterSeconds: AGAIN_SECONDS,
  };
}

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };
