import * as z from "zod";
import type { Budget } from "#clouds/http/budget.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import { createCapabilityCalls } from "#clouds/http/capability-calls.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import { buildInvalid, toFailure, toObservation } from "#clouds/observation.ts";
import type { Cattle } from "#clouds/rancher/cattle/client.ts";
import { performAction } from "#clouds/rancher/cattle/load-balancers/act.ts";
import {
  type Environment,
  readEnvironment,
  readState,
} from "#clouds/rancher/cattle/load-balancers/observe.ts";
import type { Observation } from "#core/capability.ts";
import { type Holding, HoldingsQuestion } from "#core/service/holdings.ts";
import { Service } from "#core/service/service.ts";

/**
 * Creates the capability for load balancers of a Rancher 1.x environment; they spend the same quota as its
 * nodes.
 */
export function createLoadBalancers(cattle: Cattle, budget: Budget): ClosableCapability {
  const calls = createCapabilityCalls({ title: "Rancher", enter: createInvocationShares(budget) });
  return {
    observe: (questions, call) =>
      calls.observe(questions, call, (callContext) => observe(questions, cattle, callContext)),
    act: (action, call) =>
      calls.act(action, call, async (callContext) => ({
        answer: await performAction(action, cattle, callContext),
      })),
    // It uses the connections of its cloud.
    close: () => {},
  };
}

/** Facts that all Services share are read once. */
async function observe(
  questions: readonly unknown[],
  cattle: Cattle,
  callContext: CallContext,
): Promise<readonly Observation[]> {
  const parsed = questions.map((each) => Question.safeParse(each).data);
  if (parsed.every((each) => each === undefined)) return parsed.map(() => INVALID_QUESTION);
  const environment = await readEnvironment(cattle, callContext);
  if (environment.kind === "fault") return parsed.map(() => toFailure(environment.fault));
  return Promise.all(
    parsed.map(async (question): Promise<Observation> => {
      if (question === undefined) return INVALID_QUESTION;
      if ("holdings" in question) return { kind: "observed", state: listHoldings(environment.value) };
      return toObservation(await readState(question, environment.value, cattle, callContext));
    }),
  );
}

const Question = z.union([
  HoldingsQuestion,
  z.object({
    service: Service,
    wanted: z.boolean(),
    nodes: z.array(z.object({ name: z.string(), providerID: z.string().optional() })),
  }),
]);

/**
 * Lists load balancers by name only: one of Rancher 1.x records nothing else about its Service, and cannot be
 * marked.
 */
function listHoldings({ balancers }: Environment): { readonly holdings: readonly Holding[] } {
  return {
    holdings: balancers.flatMap(({ balancer: { id, name } }) => {
      const uid = /^lb-a([0-9a-f]{32})$/.exec(name)?.[1];
      return uid === undefined ? [] : [{ kind: "load balancer", id, name, uid }];
    }),
  };
}

const INVALID_QUESTION = buildInvalid("loadBalancers: the question is invalid");
