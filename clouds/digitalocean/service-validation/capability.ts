import { callsWithin } from "#clouds/digitalocean/capability-call.ts";
import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/kind.ts";
import { validate } from "#clouds/digitalocean/service-validation/validate.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { inOrder } from "#clouds/http/capability-calls.ts";
import type { ClosableCapability } from "#clouds/loaded-capability.ts";
import { invalid, observationOf } from "#clouds/observation.ts";
import type { Observation } from "#core/capability.ts";
import { ValidationQuestion } from "#core/service/validation.ts";

/** What the validation of Services shares with the rest of a cluster's cloud. */
export interface ValidationWorld {
  readonly config: DigitalOceanCloudConfig;
  readonly api: Api;
  readonly budget: Budget;
}

/** Whether Services can have the load balancers that they ask for; it changes nothing. */
export function createServiceValidation({ config, api, budget }: ValidationWorld): ClosableCapability {
  const calls = callsWithin(budget, TIMES_RESERVE);
  return {
    observe: (questions, call) =>
      calls.observe(questions, call, (turn) =>
        inOrder(questions, (question) => observe(question, config, api, turn)),
      ),
    act: (action, call) =>
      calls.act(action, call, async () => ({
        answer: invalid(`serviceValidation has no action ${action.action}`),
      })),
    close() {},
  };
}

/**
 * Half of the hour's quota: who writes Services of one cluster, as often as he likes, spends of what nodes and load balancers of all clusters
 * have.
 */
const TIMES_RESERVE = 5;

async function observe(
  question: unknown,
  config: DigitalOceanCloudConfig,
  api: Api,
  turn: Turn,
): Promise<Observation> {
  const { success, data } = ValidationQuestion.safeParse(question);
  if (!success) return invalid("the question is none about a Service");
  return observationOf(await validate(data, { config, api, turn }));
}
