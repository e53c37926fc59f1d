import * as z from "zod";
import type { ActionCall, ActionResult } from "#clouds/cloud.ts";
import { actionAnswerOf, invalid } from "#clouds/digitalocean/capability-call.ts";
import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/kind.ts";
import { UUID } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import { observeHoldings } from "#clouds/digitalocean/load-balancers/holdings.ts";
import { observeAll } from "#clouds/digitalocean/load-balancers/observe.ts";
import {
  createLoadBalancer,
  deleteLoadBalancer,
  replaceLoadBalancer,
} from "#clouds/digitalocean/load-balancers/requests.ts";
import type { Sources } from "#clouds/digitalocean/resolve.ts";
import { createEntrance } from "#clouds/entrance.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { createMeter } from "#clouds/http/meter.ts";
import type { ClosableCapability } from "#clouds/loaded-capability.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { messageOf } from "#core/message-of.ts";
import { HoldingsQuestion } from "#core/service/holdings.ts";
import { Service } from "#core/service/service.ts";

/** What load balancers of one cluster share with its nodes. */
export interface DigitalOceanWorld {
  readonly config: DigitalOceanCloudConfig;
  readonly api: Api;
  readonly budget: Budget;
  readonly sources: Sources;
}

/** Load balancers; they spend of the same quota as nodes, and before these are kept from being initialized they wait. */
export function createLoadBalancers({ config, api, budget, sources }: DigitalOceanWorld): ClosableCapability {
  const enter = createEntrance(budget);
  return {
    async observe(questions, call) {
      const { signal, onRequest } = call;
      const meter = createMeter(onRequest);
      const all = (answer: Observation) => ({ answers: questions.map(() => answer), usage: meter.usage() });
      if (questions.length === 0 || signal.aborted) return all(ABORTED);
      if (budget.isLow(PART_OF_RESERVE)) return all(HELD_BACK);
      const leave = enter(call);
      try {
        const turn = { signal, meter };
        if (questions.every((each) => HoldingsQuestion.safeParse(each).success)) {
          const answers = await Promise.all(questions.map(() => observeHoldings(config, api, turn)));
          return { answers, usage: meter.usage() };
        }
        const parsed = questions.map((each) => Question.safeParse(each).data);
        const understood = parsed.filter((each) => each !== undefined);
        const observed = await observeAll(understood, { config, api, sources, turn });
        const answers = new Map(understood.map((question, index) => [question, observed[index]]));
        return {
          answers: parsed.map((each) => (each && answers.get(each)) ?? NOT_UNDERSTOOD),
          usage: meter.usage(),
        };
      } catch (error) {
        // Nothing is known to come here; but the contract is that nobody's batch rejects.
        return all({ kind: "error", code: "Unavailable", message: `loadBalancers: ${messageOf(error)}` });
      } finally {
        leave();
      }
    },
    async act(action, call: ActionCall): Promise<ActionResult> {
      const { signal, onRequest } = call;
      const meter = createMeter(onRequest);
      const leave = enter(call);
      try {
        return { answer: await perform(action, api, { signal, meter }), usage: meter.usage() };
      } catch (error) {
        const message = `${action.action}: ${messageOf(error)}`;
        return { answer: { kind: "error", code: "Invalid", message }, usage: meter.usage() };
      } finally {
        leave();
      }
    },
    // Its connections are those of its cloud.
    close: () => {},
  };
}

async function perform(
  { action, target, parameters }: CloudAction,
  api: Api,
  turn: Turn,
): Promise<ActionAnswer> {
  const body = Sent.safeParse(parameters["body"]).data;
  if (action === "CreateLoadBalancer" && body !== undefined)
    return actionAnswerOf(await createLoadBalancer(api, body, turn));
  // An id becomes part of a path.
  if (!UUID.test(target)) return invalid(`"${target}" is not the id of a load balancer`);
  if (action === "ReplaceLoadBalancer" && body !== undefined)
    return actionAnswerOf(await replaceLoadBalancer(api, target, body, turn));
  if (action === "DeleteLoadBalancer") return actionAnswerOf(await deleteLoadBalancer(api, target, turn));
  return invalid(`loadBalancers has no action ${action} with these parameters`);
}

/** What the controller asks; a Service that its controller has parsed comes out as it went in. */
const Question = z.object({
  service: Service,
  wanted: z.boolean(),
  nodes: z.array(z.object({ name: z.string(), providerID: z.string().optional() })),
});

const Sent = z.record(z.string(), z.unknown()).refine((body) => typeof body["name"] === "string");

/** Of what of the hour's quota is kept for others than refreshed nodes, so much is kept for nodes that are to be initialized. */
const PART_OF_RESERVE = 0.5;

const ABORTED: Observation = {
  kind: "error",
  code: "Aborted",
  message: "aborted before DigitalOcean was asked",
};

const NOT_UNDERSTOOD: Observation = {
  kind: "error",
  code: "Invalid",
  message: "loadBalancers is asked something that it does not understand",
};

const HELD_BACK: Observation = {
  kind: "error",
  code: "Throttled",
  message: "little is left of the account's hourly quota, and is kept for nodes that are to be initialized",
};
