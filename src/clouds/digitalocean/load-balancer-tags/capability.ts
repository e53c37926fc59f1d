import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import {
  classifyOwnership,
  isInPlace,
  isTagged,
  type Owner,
} from "#clouds/digitalocean/load-balancers/ownership.ts";
import { listLoadBalancers } from "#clouds/digitalocean/load-balancers/requests.ts";
import { createCalls, tagLoadBalancers, toActionAnswer } from "#clouds/digitalocean/requests.ts";
import type { Api } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { answerInOrder } from "#clouds/http/capability-calls.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import { buildInvalid, toFailure } from "#clouds/outcome.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import {
  TAG,
  TagParameters,
  TagsQuestion,
  type TagsState,
} from "#core/digitalocean/load-balancer-tags/state.ts";
import type { Service } from "#core/service/service.ts";

/** Dependencies that load balancer tags share with the rest of a cluster's cloud. */
export interface TagsDependencies {
  readonly config: Owner;
  readonly api: Api;
  readonly budget: Budget;
}

/** Creates the capability for the cluster's tag on its load balancers. */
export function createLoadBalancerTags({ config, api, budget }: TagsDependencies): ClosableCapability {
  const calls = createCalls(budget);
  return {
    observe: (questions, call) =>
      calls.observe(questions, call, (callContext) =>
        answerInOrder(questions, (question) => observe(question, config, api, callContext)),
      ),
    act: (action, call) =>
      calls.act(action, call, async (callContext) => ({
        answer: await perform(action, config, api, callContext),
      })),
    close() {},
  };
}

async function observe(
  question: unknown,
  owner: Owner,
  api: Api,
  callContext: CallContext,
): Promise<Observation> {
  const { success, data } = TagsQuestion.safeParse(question);
  if (!success) return buildInvalid("the question is not about the tags of load balancers");
  const list = await listLoadBalancers(api, callContext);
  if (list.kind === "fault") return toFailure(list.fault);
  // A load balancer of another cluster is never tagged, whatever names it.
  const untagged = list.value.filter(
    (balancer) => isInPlace(balancer, owner) && !isTagged(balancer, owner) && !hasForeignTag(balancer),
  );
  const state: TagsState = { lacking: [], unproven: [] };
  for (const balancer of untagged) {
    if (data.services.some((service) => isServiceBalancer(balancer, service, owner))) {
      state.lacking.push(balancer.id);
      continue;
    }
    const namingService = data.services.find(({ loadBalancerID }) => loadBalancerID === balancer.id);
    if (namingService !== undefined)
      state.unproven.push(`${namingService.namespace}/${namingService.name}: ${balancer.id}`);
  }
  return { kind: "observed", state };
}

function hasForeignTag({ tags }: LoadBalancer): boolean {
  return tags.some((tag) => tag.startsWith("k8s:"));
}

function isServiceBalancer(
  balancer: LoadBalancer,
  { uid }: TagsQuestion["services"][number],
  owner: Owner,
): boolean {
  // Only the uid of the Service is read.
  return classifyOwnership(balancer, { metadata: { uid } } as Service, owner) === "service";
}

async function perform(
  { action, target, parameters }: CloudAction,
  { clusterID }: Owner,
  api: Api,
  callContext: CallContext,
): Promise<ActionAnswer> {
  const { success, data } = TagParameters.safeParse(parameters);
  // A tag becomes part of a path, and only the cluster's own tag is accepted.
  if (!success || action !== TAG || clusterID === undefined || target !== `k8s:${clusterID}`)
    return buildInvalid(`loadBalancerTags has no action ${action} ${target}`);
  return toActionAnswer(await tagLoadBalancers(target, data.ids, api, callContext));
}
