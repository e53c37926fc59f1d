import * as z from "zod";
import { createEntrance } from "#clouds/entrance.ts";
import type { Turn } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { createCapabilityCalls } from "#clouds/http/capability-calls.ts";
import type { ClosableCapability } from "#clouds/loaded-capability.ts";
import { failureOf, invalid, observationOf } from "#clouds/observation.ts";
import type { Cattle } from "#clouds/rancher/cattle/client.ts";
import { perform } from "#clouds/rancher/cattle/load-balancers/act.ts";
import { type Environment, readEnvironment, stateOf } from "#clouds/rancher/cattle/load-balancers/observe.ts";
import type { Observation } from "#core/capability.ts";
import { type Holding, HoldingsQuestion } from "#core/service/holdings.ts";
import { Service } from "#core/service/service.ts";

/** The load balancers of an environment of Rancher 1.x; they spend of the same quota as its nodes. */
export function createLoadBalancers(cattle: Cattle, budget: Budget): ClosableCapability {
  const calls = createCapabilityCalls({ title: "Rancher", enter: createEntrance(budget) });
  return {
    observe: (questions, call) => calls.observe(questions, call, (turn) => observe(questions, cattle, turn)),
    act: (action, call) =>
      calls.act(action, call, async (turn) => ({ answer: await perform(action, cattle, turn) })),
    // Its connections are those of its cloud.
    close: () => {},
  };
}

/** What all of them have in common is read once. */
async function observe(
  questions: readonly unknown[],
  cattle: Cattle,
  turn: Turn,
): Promise<readonly Observation[]> {
  const parsed = questions.map((each) => Question.safeParse(each).data);
  if (parsed.every((each) => each === undefined)) return parsed.map(() => NOT_UNDERSTOOD);
  const environment = await readEnvironment(cattle, turn);
  if (environment.kind === "fault") return parsed.map(() => failureOf(environment.fault));
  return Promise.all(
    parsed.map(async (question): Promise<Observation> => {
      if (question === undefined) return NOT_UNDERSTOOD;
      if ("holdings" in question) return { kind: "observed", state: holdingsOf(environment.value) };
      return observationOf(await stateOf(question, environment.value, cattle, turn));
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

/** By their names alone: a load balancer of Rancher 1.x says nothing else of its Service, and cannot be marked. */
function holdingsOf({ balancers }: Environment): { readonly holdings: readonly Holding[] } {
  return {
    holdings: balancers.flatMap(({ balancer: { id, name } }) => {
      const uid = /^lb-a([0-9a-f]{32})$/.exec(name)?.[1];
      return uid === undefined ? [] : [{ kind: "load balancer", id, name, uid }];
    }),
  };
}

const NOT_UNDERSTOOD = invalid("loadBalancers is asked something that it does not understand");
