import * as z from "zod";
import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import { type Droplet, isDropletId } from "#clouds/digitalocean/droplet.ts";
import { UUID } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { observeAll } from "#clouds/digitalocean/load-balancers/observe.ts";
import { performTagAction } from "#clouds/digitalocean/load-balancers/orphans/tag-actions.ts";
import { listOrphanMarks, parseServiceTag } from "#clouds/digitalocean/load-balancers/orphans/tags.ts";
import {
  getServiceUid,
  isOfClusterAlone,
  type Owner,
} from "#clouds/digitalocean/load-balancers/ownership.ts";
import {
  changeDroplets,
  createLoadBalancer,
  deleteLoadBalancer,
  listLoadBalancers,
  replaceLoadBalancer,
} from "#clouds/digitalocean/load-balancers/requests.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import { createCalls, toActionAnswer } from "#clouds/digitalocean/requests.ts";
import type { Api } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import type { Sources } from "#clouds/listed/sources.ts";
import { buildInvalid, toFailure } from "#clouds/outcome.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { type Holding, HoldingsQuestion, type HoldingsState } from "#core/service/holdings.ts";
import { selectOldestMark } from "#core/service/orphans/mark.ts";
import { Service } from "#core/service/service.ts";

/** Dependencies that load balancers of one cluster share with its nodes. */
export interface DigitalOceanDependencies {
  readonly config: DigitalOceanCloudConfig;
  readonly api: Api;
  readonly budget: Budget;
  readonly sources: Sources<Droplet>;
}

/**
 * Creates the capability for load balancers. They spend the same quota as nodes, and wait before they would
 * delay initialization.
 */
export function createLoadBalancers({
  config,
  api,
  budget,
  sources,
}: DigitalOceanDependencies): ClosableCapability {
  const calls = createCalls(budget, RESERVE_SHARE);
  return {
    observe: (questions, call) =>
      calls.observe(questions, call, async (callContext) => {
        const holdings = questions.flatMap((each) => HoldingsQuestion.safeParse(each).data ?? []);
        // This question is about the whole cluster and comes alone.
        if (holdings.length === questions.length) {
          return Promise.all(holdings.map((question) => observeHoldings(question, config, api, callContext)));
        }
        const parsed = questions.map((each) => Question.safeParse(each).data);
        const validQuestions = parsed.filter((each) => each !== undefined);
        const observed = await observeAll(validQuestions, { config, api, sources, callContext });
        const answers = new Map(validQuestions.map((question, index) => [question, observed[index]]));
        return parsed.map((each) => (each && answers.get(each)) ?? INVALID_QUESTION);
      }),
    act: (action, call) =>
      calls.act(action, call, async (callContext) => ({ answer: await perform(action, api, callContext) })),
    // It uses the connections of its cloud.
    close: () => {},
  };
}

async function perform(cloudAction: CloudAction, api: Api, callContext: CallContext): Promise<ActionAnswer> {
  const { action, target, parameters } = cloudAction;
  const body = RequestBody.safeParse(parameters["body"]).data;
  if (action === "CreateLoadBalancer" && body !== undefined)
    return toActionAnswer(await createLoadBalancer(api, body, callContext));
  const tagAnswer = await performTagAction(cloudAction, api, callContext);
  if (tagAnswer !== undefined) return tagAnswer;
  // An id becomes part of a path.
  if (!UUID.test(target)) return buildInvalid(`"${target}" is not the id of a load balancer`);
  if (action === "ReplaceLoadBalancer" && body !== undefined)
    return toActionAnswer(await replaceLoadBalancer(api, target, body, callContext));
  const droplets = DropletIds.safeParse(parameters["dropletIds"]).data;
  if (action === "AddDroplets" && droplets !== undefined)
    return toActionAnswer(await changeDroplets(api, "POST", { id: target, droplets }, callContext));
  if (action === "RemoveDroplets" && droplets !== undefined)
    return toActionAnswer(await changeDroplets(api, "DELETE", { id: target, droplets }, callContext));
  if (action === "DeleteLoadBalancer")
    return toActionAnswer(await deleteLoadBalancer(api, target, callContext));
  return buildInvalid(`loadBalancers has no action ${action} with these parameters`);
}

/** The controller's question; a Service that its controller has parsed stays unchanged. */
const Question = z.object({
  service: Service,
  wanted: z.boolean(),
  nodes: z.array(z.object({ name: z.string(), providerID: z.string().optional() })),
});

const DropletIds = z.array(z.string().refine(isDropletId)).min(1);

/** The body of a request; its ids become numbers. */
const RequestBody = z.looseObject({
  name: z.string(),
  droplet_ids: z.array(z.string().refine(isDropletId)).optional(),
});

/** The part of the hour's reserve that is kept for nodes to be initialized. */
const RESERVE_SHARE = 0.5;

const INVALID_QUESTION = buildInvalid("loadBalancers: the question is invalid");

/**
 * Lists all load balancers with the cluster's tag, each with its Service if a tag names it; for an audit,
 * with the fields that it reads.
 */
async function observeHoldings(
  { auditAt }: HoldingsQuestion,
  owner: Owner,
  api: Api,
  callContext: CallContext,
): Promise<Observation> {
  if (owner.clusterID === undefined) return NO_CLUSTER_ID;
  const list = await listLoadBalancers(api, callContext);
  if (list.kind === "fault") return toFailure(list.fault);
  const clusterBalancers = list.value.filter((balancer) => isOfClusterAlone(balancer, owner));
  const holdings = clusterBalancers.map((balancer) => buildHolding(balancer, auditAt !== undefined));
  const oldest = auditAt === undefined ? undefined : selectOldestMark(holdings, Date.parse(auditAt));
  const balancers = clusterBalancers.filter(({ id }) => id === oldest?.id);
  const removableState: DigitalOceanState = { balancers, targets: [], certificates: [] };
  const removable = oldest === undefined ? {} : { removable: { id: oldest.id, state: removableState } };
  return { kind: "observed", state: { holdings, ...removable } satisfies HoldingsState };
}

function buildHolding(balancer: LoadBalancer, isAudit: boolean): Holding {
  const { id, name } = balancer;
  const service = parseServiceTag(balancer);
  const uid = isAudit ? getServiceUid(balancer) : undefined;
  const mark = isAudit ? listOrphanMarks(balancer).at(-1) : undefined;
  return {
    ...{ kind: "load balancer", id, name },
    ...(service === undefined ? {} : { service }),
    ...(uid === undefined ? {} : { uid }),
    ...(mark === undefined ? {} : { mark: mark.text }),
  };
}

const NO_CLUSTER_ID = buildInvalid(
  "without clusterID no load balancer of the account can be assigned to the cluster",
);
