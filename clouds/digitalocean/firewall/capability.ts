import { actionAnswerOf, callsWithin } from "#clouds/digitalocean/capability-call.ts";
import { firewallsNamed } from "#clouds/digitalocean/firewall/list-firewalls.ts";
import { FirewallAnswer, inTheirWords } from "#clouds/digitalocean/firewall/rule.ts";
import { isInPlace, isTagged, type Owner } from "#clouds/digitalocean/load-balancers/belonging.ts";
import { listLoadBalancers } from "#clouds/digitalocean/load-balancers/requests.ts";
import type { Api, ApiRequest, Turn } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { inOrder } from "#clouds/http/capability-calls.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { ClosableCapability } from "#clouds/loaded-capability.ts";
import { failureOf, invalid } from "#clouds/observation.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import {
  CREATE,
  type Firewall,
  FirewallQuestion,
  type FirewallState,
  UPDATE,
  WantedFirewall,
} from "#core/firewall/state.ts";

/** What the firewall of a cluster shares with the rest of its cloud. */
export interface FirewallWorld {
  readonly config: Owner;
  readonly api: Api;
  readonly budget: Budget;
}

/** The firewall before a cluster's droplets, by its name. */
export function createFirewall({ config, api, budget }: FirewallWorld): ClosableCapability {
  const calls = callsWithin(budget);
  return {
    observe: (questions, call) =>
      calls.observe(questions, call, (turn) =>
        inOrder(questions, (question) => observe(question, config, api, turn)),
      ),
    act: (action, call) =>
      calls.act(action, call, async (turn) => ({ answer: await perform(action, api, turn) })),
    close() {},
  };
}

async function observe(question: unknown, owner: Owner, api: Api, turn: Turn): Promise<Observation> {
  const { success, data } = FirewallQuestion.safeParse(question);
  if (!success) return invalid("the question is none about firewalls");
  const firewalls = await firewallsNamed(data.name, api, turn);
  if (firewalls.kind === "fault") return failureOf(firewalls.fault);
  const known = await knownOf(data.loadBalancers, owner, api, turn);
  if (known.kind === "fault") return failureOf(known.fault);
  const state: FirewallState = { firewalls: [...firewalls.value], loadBalancers: [...known.value] };
  return { kind: "observed", state };
}

/** Whoever names a load balancer in an annotation may name anybody's, or none. */
async function knownOf(
  ids: readonly string[],
  owner: Owner,
  api: Api,
  turn: Turn,
): Promise<Outcome<readonly string[]>> {
  if (ids.length === 0) return ok([]);
  const list = await listLoadBalancers(api, turn);
  if (list.kind === "fault") return list;
  const known = list.value.filter(
    (balancer) => isInPlace(balancer, owner) && (owner.clusterID === undefined || isTagged(balancer, owner)),
  );
  const own = new Set(known.map(({ id }) => id));
  return ok(ids.filter((id) => own.has(id)));
}

async function perform(
  { action, target, parameters }: CloudAction,
  api: Api,
  turn: Turn,
): Promise<ActionAnswer> {
  const { success, data } = WantedFirewall.safeParse(parameters);
  if (!success) return invalid(`${action}: the parameters are no firewall`);
  const body = {
    ...{ name: data.name, tags: data.tags },
    inbound_rules: inTheirWords(data.inbound, "sources"),
    outbound_rules: inTheirWords(data.outbound, "destinations"),
  };
  if (action === CREATE) {
    const request = { operation: "firewalls_create", template: "POST /v2/firewalls", path: "/v2/firewalls" };
    return actionAnswerOf(await send({ method: "POST", ...request, body }, api, turn));
  }
  // An id becomes part of a path.
  if (action !== UPDATE || !/^[\w-]+$/.test(target))
    return invalid(`firewall has no action ${action} ${target}`);
  const request = {
    ...{ operation: "firewalls_update", template: "PUT /v2/firewalls/{id}", path: `/v2/firewalls/${target}` },
  };
  return actionAnswerOf(await send({ method: "PUT", ...request, body }, api, turn));
}

async function send(request: ApiRequest, api: Api, turn: Turn): Promise<Outcome<Firewall>> {
  const answer = await api.send(request, turn);
  if (answer.kind === "fault") return answer;
  const { success, data } = FirewallAnswer.safeParse(answer.value.body);
  return success
    ? ok(data.firewall.firewall)
    : fault("Unavailable", `${request.template}: the answer is not a firewall`);
}
