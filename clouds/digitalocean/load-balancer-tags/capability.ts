import { actionAnswerOf, callsWithin } from "#clouds/digitalocean/capability-call.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import {
  belongingOf,
  isInPlace,
  isTagged,
  type Owner,
} from "#clouds/digitalocean/load-balancers/belonging.ts";
import { listLoadBalancers } from "#clouds/digitalocean/load-balancers/requests.ts";
import { tagLoadBalancers } from "#clouds/digitalocean/tag-requests.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { inOrder } from "#clouds/http/capability-calls.ts";
import type { ClosableCapability } from "#clouds/loaded-capability.ts";
import { failureOf, invalid } from "#clouds/observation.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import type { Service } from "#core/service/service.ts";
import { TAG, TagParameters, TagsQuestion, type TagsState } from "#core/service/tags/state.ts";

/** What the tags of load balancers share with the rest of a cluster's cloud. */
export interface TagsWorld {
  readonly config: Owner;
  readonly api: Api;
  readonly budget: Budget;
}

/** The cluster's tag on its load balancers. */
export function createLoadBalancerTags({ config, api, budget }: TagsWorld): ClosableCapability {
  const calls = callsWithin(budget);
  return {
    observe: (questions, call) =>
      calls.observe(questions, call, (turn) =>
        inOrder(questions, (question) => observe(question, config, api, turn)),
      ),
    act: (action, call) =>
      calls.act(action, call, async (turn) => ({ answer: await perform(action, config, api, turn) })),
    close() {},
  };
}

async function observe(question: unknown, owner: Owner, api: Api, turn: Turn): Promise<Observation> {
  const { success, data } = TagsQuestion.safeParse(question);
  if (!success) return invalid("the question is none about the tags of load balancers");
  const list = await listLoadBalancers(api, turn);
  if (list.kind === "fault") return failureOf(list.fault);
  // One of another cluster is none of this one's business, whoever names it.
  const untagged = list.value.filter(
    (balancer) => isInPlace(balancer, owner) && !isTagged(balancer, owner) && !isOfOthers(balancer),
  );
  const state: TagsState = { lacking: [], unproven: [] };
  for (const balancer of untagged) {
    if (data.services.some((service) => isOf(balancer, service, owner))) {
      state.lacking.push(balancer.id);
      continue;
    }
    const naming = data.services.find(({ loadBalancerID }) => loadBalancerID === balancer.id);
    if (naming !== undefined) state.unproven.push(`${naming.namespace}/${naming.name}: ${balancer.id}`);
  }
  return { kind: "observed", state };
}

function isOfOthers({ tags }: LoadBalancer): boolean {
  return tags.some((tag) => tag.startsWith("k8s:"));
}

function isOf(balancer: LoadBalancer, { uid }: TagsQuestion["services"][number], owner: Owner): boolean {
  // Of a Service the uid alone is read for it.
  return belongingOf(balancer, { metadata: { uid } } as Service, owner) === "service";
}

async function perform(
  { action, target, parameters }: CloudAction,
  { clusterID }: Owner,
  api: Api,
  turn: Turn,
): Promise<ActionAnswer> {
  const { success, data } = TagParameters.safeParse(parameters);
  // A tag becomes part of a path, and there is one alone that is the cluster's.
  if (!success || action !== TAG || clusterID === undefined || target !== `k8s:${clusterID}`)
    return invalid(`loadBalancerTags has no action ${action} ${target}`);
  return actionAnswerOf(await tagLoadBalancers(target, data.ids, api, turn));
}
