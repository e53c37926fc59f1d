import type { ActionCall, ActionResult } from "#clouds/cloud.ts";
import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/kind.ts";
import { UUID } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Body } from "#clouds/digitalocean/load-balancers/body.ts";
import { observeHoldings } from "#clouds/digitalocean/load-balancers/holdings.ts";
import { failed, observeAll } from "#clouds/digitalocean/load-balancers/observe.ts";
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
import type { Outcome } from "#clouds/http/outcome.ts";
import type { ClosableCapability } from "#clouds/loaded-capability.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { messageOf } from "#core/message-of.ts";
import { HoldingsQuestion } from "#core/service/holdings.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";

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
        const answers = questions.every((each) => HoldingsQuestion.safeParse(each).success)
          ? await Promise.all(questions.map(() => observeHoldings(config, api, turn)))
          : // The controller's own question, which it made of a Service that it has parsed.
            await observeAll(questions as readonly LoadBalancerQuestion[], { config, api, sources, turn });
        return { answers, usage: meter.usage() };
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
  const body = (parameters["body"] ?? {}) as Body;
  if (action === "CreateLoadBalancer") return answerOf(await createLoadBalancer(api, body, turn));
  // An id becomes part of a path.
  if (!UUID.test(target)) return invalid(`"${target}" is not the id of a load balancer`);
  if (action === "ReplaceLoadBalancer") return answerOf(await replaceLoadBalancer(api, target, body, turn));
  if (action === "DeleteLoadBalancer") return answerOf(await deleteLoadBalancer(api, target, turn));
  return invalid(`loadBalancers has no action ${action}`);
}

function answerOf(outcome: Outcome<unknown>): ActionAnswer {
  if (outcome.kind === "ok") return { kind: "done", result: outcome.value ?? null };
  const { status = 0, errorId, message } = outcome.fault;
  const reason = errorId === undefined ? {} : { reason: errorId };
  // It is gone, or something else is being done with it.
  if (status === 404 || status === 409) return { kind: "conflict", message, ...reason };
  if (status === 400 || status === 422) return { kind: "error", code: "Invalid", message, ...reason };
  const { code } = failed(outcome.fault);
  return { kind: "error", code, message, ...reason };
}

function invalid(message: string): ActionAnswer {
  return { kind: "error", code: "Invalid", message };
}

/** Of what of the hour's quota is kept for others than refreshed nodes, so much is kept for nodes that are to be initialized. */
const PART_OF_RESERVE = 0.5;

const ABORTED: Observation = {
  kind: "error",
  code: "Aborted",
  message: "aborted before DigitalOcean was asked",
};

const HELD_BACK: Observation = {
  kind: "error",
  code: "Throttled",
  message: "little is left of the account's hourly quota, and is kept for nodes that are to be initialized",
};
