import { createCalls } from "#clouds/digitalocean/capability-call.ts";
import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import { validate } from "#clouds/digitalocean/service-validation/validate.ts";
import type { Api } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { answerInOrder } from "#clouds/http/capability-calls.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import { buildInvalid, toObservation } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import { ValidationQuestion } from "#core/service/validation.ts";

/** Dependencies that the validation of Services shares with the rest of a cluster's cloud. */
export interface ValidationDependencies {
  readonly config: DigitalOceanCloudConfig;
  readonly api: Api;
  readonly budget: Budget;
}

/**
 * Creates the capability that checks whether Services can have the load balancers that they request; it
 * changes nothing.
 */
export function createServiceValidation({ config, api, budget }: ValidationDependencies): ClosableCapability {
  const calls = createCalls(budget, TIMES_RESERVE);
  return {
    observe: (questions, call) =>
      calls.observe(questions, call, (callContext) =>
        answerInOrder(questions, (question) => observe(question, config, api, callContext)),
      ),
    act: (action, call) =>
      calls.act(action, call, async () => ({
        answer: buildInvalid(`serviceValidation has no action ${action.action}`),
      })),
    close() {},
  };
}

/**
 * Half of the hour's quota: frequent writes of Services in one cluster must not use up what nodes and load
 * balancers of all clusters need.
 */
const TIMES_RESERVE = 5;

async function observe(
  question: unknown,
  config: DigitalOceanCloudConfig,
  api: Api,
  callContext: CallContext,
): Promise<Observation> {
  const { success, data } = ValidationQuestion.safeParse(question);
  if (!success) return buildInvalid("the question is not about a Service");
  return toObservation(await validate(data, { config, api, callContext }));
}
