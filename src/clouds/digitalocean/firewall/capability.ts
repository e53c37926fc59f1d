import * as z from "zod";
import { isInPlace, isTagged, type Owner } from "#clouds/digitalocean/load-balancers/ownership.ts";
import { listLoadBalancers } from "#clouds/digitalocean/load-balancers/requests.ts";
import { readList } from "#clouds/digitalocean/read-list.ts";
import { createCalls, toActionAnswer } from "#clouds/digitalocean/requests.ts";
import type { Api, ApiRequest } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { answerInOrder } from "#clouds/http/capability-calls.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import { buildInvalid, fault, ok, toFailure } from "#clouds/outcome.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import {
  CREATE,
  DesiredFirewall,
  type Firewall,
  FirewallQuestion,
  type FirewallRule,
  type FirewallState,
  type KnownLoadBalancer,
  UPDATE,
} from "#core/digitalocean/firewall/state.ts";

/** Dependencies that a cluster's firewall shares with the rest of its cloud. */
export interface FirewallDependencies {
  readonly config: Owner;
  readonly api: Api;
  readonly budget: Budget;
}

/** Creates the capability for the firewall of a cluster's droplets, identified by name. */
export function createFirewall({ config, api, budget }: FirewallDependencies): ClosableCapability {
  const calls = createCalls(budget);
  return {
    observe: (questions, call) =>
      calls.observe(questions, call, (callContext) =>
        answerInOrder(questions, (question) => observe(question, config, api, callContext)),
      ),
    act: (action, call) =>
      calls.act(action, call, async (callContext) => ({ answer: await perform(action, api, callContext) })),
    close() {},
  };
}

async function observe(
  question: unknown,
  owner: Owner,
  api: Api,
  callContext: CallContext,
): Promise<Observation> {
  const { success, data } = FirewallQuestion.safeParse(question);
  if (!success) return buildInvalid("the question is not about firewalls");
  const firewalls = await listFirewalls(data.name, api, callContext);
  if (firewalls.kind === "fault") return toFailure(firewalls.fault);
  const loadBalancers = await selectOwnLoadBalancers(data.loadBalancers, owner, api, callContext);
  if (loadBalancers.kind === "fault") return toFailure(loadBalancers.fault);
  const state: FirewallState = { firewalls: [...firewalls.value], loadBalancers: [...loadBalancers.value] };
  return { kind: "observed", state };
}

/** An annotation may name a foreign load balancer, or one that does not exist. */
async function selectOwnLoadBalancers(
  ids: readonly string[],
  owner: Owner,
  api: Api,
  callContext: CallContext,
): Promise<Outcome<readonly KnownLoadBalancer[]>> {
  if (ids.length === 0) return ok([]);
  const list = await listLoadBalancers(api, callContext);
  if (list.kind === "fault") return list;
  const ownBalancers = list.value.filter(
    (balancer) => isInPlace(balancer, owner) && (owner.clusterID === undefined || isTagged(balancer, owner)),
  );
  return ok(
    ownBalancers
      .filter(({ id }) => ids.includes(id))
      .map(({ id, type, network, health_check: { port: healthPort } }) => ({
        id,
        type,
        network,
        healthPort,
      })),
  );
}

async function perform(
  { action, target, parameters }: CloudAction,
  api: Api,
  callContext: CallContext,
): Promise<ActionAnswer> {
  const { success, data } = DesiredFirewall.safeParse(parameters);
  if (!success) return buildInvalid(`${action}: the parameters are no firewall`);
  const body = {
    ...{ name: data.name, tags: data.tags },
    inbound_rules: formatRules(data.inbound, "sources"),
    outbound_rules: formatRules(data.outbound, "destinations"),
  };
  if (action === CREATE) {
    const request = { operation: "firewalls_create", template: "POST /v2/firewalls", path: "/v2/firewalls" };
    return toActionAnswer(await send({ method: "POST", ...request, body }, api, callContext));
  }
  // An id becomes part of a path.
  if (action !== UPDATE || !/^[\w-]+$/.test(target))
    return buildInvalid(`firewall has no action ${action} ${target}`);
  const request = {
    ...{ operation: "firewalls_update", template: "PUT /v2/firewalls/{id}", path: `/v2/firewalls/${target}` },
  };
  return toActionAnswer(await send({ method: "PUT", ...request, body }, api, callContext));
}

async function send(request: ApiRequest, api: Api, callContext: CallContext): Promise<Outcome<Firewall>> {
  const answer = await api.send(request, callContext);
  if (answer.kind === "fault") return answer;
  const { success, data } = FirewallAnswer.safeParse(answer.value.body);
  return success
    ? ok(data.firewall.firewall)
    : fault("Unavailable", `${request.template}: the answer is not a firewall`);
}

/** Maximum pages read: the API cannot filter by name. */
const MAX_PAGES = 10;

const LIST = { operation: "firewalls_list", path: "/v2/firewalls", key: "firewalls" };

/** Lists the account's firewalls of one name. Absence counts as proof, so an incomplete list is a fault. */
async function listFirewalls(
  name: string,
  api: Api,
  callContext: CallContext,
): Promise<Outcome<readonly Firewall[]>> {
  const listed = await readList(LIST, MAX_PAGES, api, callContext);
  if (listed.kind === "fault") return listed;
  const found: Firewall[] = [];
  // Firewalls of others are not parsed, so that an unreadable one does not matter.
  for (const entry of listed.value.filter((each) => each.name === name)) {
    const { success, data } = ListedFirewall.safeParse(entry);
    if (!success) return fault("Unavailable", `GET ${LIST.path}: the answer holds what is no firewall`);
    found.push(data.firewall);
  }
  return ok(found);
}

const stringList = () =>
  z
    .array(z.string())
    .nullish()
    .transform((list) => list ?? []);

/** Sources or destinations; fields that are not read here are lost when the firewall is replaced. */
const Peers = z.object({ addresses: stringList(), load_balancer_uids: stringList() });

const rule = {
  protocol: z.string(),
  ports: z
    .string()
    .nullish()
    .transform((ports) => (ports === null || ports === undefined || EVERY.has(ports) ? "" : ports)),
};

/** The API's forms of "all ports". */
const EVERY: ReadonlySet<string> = new Set(["all", "0"]);

const rules = <Rule extends z.ZodType>(each: Rule) =>
  z
    .array(each)
    .nullish()
    .transform((list) => list ?? []);

/** A firewall in the API. */
export const ListedFirewall = z
  .object({
    id: z.string().regex(/^[\w-]+$/),
    name: z.string(),
    tags: stringList(),
    droplet_ids: z
      .array(z.unknown())
      .nullish()
      .transform((ids) => ids?.length ?? 0),
    inbound_rules: rules(z.object({ ...rule, sources: Peers })),
    outbound_rules: rules(z.object({ ...rule, destinations: Peers })),
  })
  .transform(({ id, name, tags, droplet_ids: machines, inbound_rules, outbound_rules }) => ({
    name,
    firewall: {
      ...{ id, tags, machines },
      inbound: inbound_rules.map(({ sources, ...each }) => buildRule(each, sources)),
      outbound: outbound_rules.map(({ destinations, ...each }) => buildRule(each, destinations)),
    } satisfies Firewall,
  }));

/** The answer to creating or replacing a firewall. */
const FirewallAnswer = z.object({ firewall: ListedFirewall });

/** Formats rules for the API, with the API's name for the other end. */
function formatRules(rules: readonly FirewallRule[], peers: "sources" | "destinations"): unknown[] {
  return rules.map(({ protocol, ports, addresses, loadBalancers }) => ({
    protocol,
    ports: ports === "" ? (protocol === "icmp" ? "0" : "all") : ports,
    [peers]: {
      ...(addresses.length === 0 ? {} : { addresses }),
      ...(loadBalancers.length === 0 ? {} : { load_balancer_uids: loadBalancers }),
    },
  }));
}

function buildRule(
  { protocol, ports }: Pick<FirewallRule, "protocol" | "ports">,
  { addresses, load_balancer_uids: loadBalancers }: z.output<typeof Peers>,
): FirewallRule {
  return { protocol, ports, addresses, loadBalancers };
}
