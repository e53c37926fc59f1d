import * as z from "zod";
import type { ActionCall, ActionResult } from "#clouds/cloud.ts";
import { createEntrance } from "#clouds/entrance.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { createMeter } from "#clouds/http/meter.ts";
import type { Fault } from "#clouds/http/outcome.ts";
import type { ClosableCapability } from "#clouds/loaded-capability.ts";
import type { Cattle } from "#clouds/rancher/cattle/client.ts";
import { codeOf, perform } from "#clouds/rancher/cattle/load-balancers/act.ts";
import { type Environment, readEnvironment, stateOf } from "#clouds/rancher/cattle/load-balancers/observe.ts";
import type { Observation } from "#core/capability.ts";
import { messageOf } from "#core/message-of.ts";
import { type Holding, HoldingsQuestion } from "#core/service/holdings.ts";
import { Service } from "#core/service/service.ts";

/** The load balancers of an environment of Rancher 1.x; they spend of the same quota as its nodes. */
export function createLoadBalancers(cattle: Cattle, budget: Budget): ClosableCapability {
  const enter = createEntrance(budget);
  return {
    async observe(questions, call) {
      const { signal, onRequest } = call;
      const meter = createMeter(onRequest);
      const all = (answer: Observation) => ({ answers: questions.map(() => answer), usage: meter.usage() });
      if (questions.length === 0 || signal.aborted) return all(ABORTED);
      const parsed = questions.map((each) => Question.safeParse(each).data);
      if (parsed.every((each) => each === undefined)) return all(NOT_UNDERSTOOD);
      const leave = enter(call);
      try {
        const turn = { signal, meter };
        const environment = await readEnvironment(cattle, turn);
        if (environment.kind === "fault") return all(failed(environment.fault));
        const answers = parsed.map(async (question): Promise<Observation> => {
          if (question === undefined) return NOT_UNDERSTOOD;
          if ("holdings" in question) return { kind: "observed", state: holdingsOf(environment.value) };
          const state = await stateOf(question, environment.value, cattle, turn);
          return state.kind === "ok" ? { kind: "observed", state: state.value } : failed(state.fault);
        });
        return { answers: await Promise.all(answers), usage: meter.usage() };
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
        return { answer: await perform(action, cattle, { signal, meter }), usage: meter.usage() };
      } catch (error) {
        const message = `${action.action}: ${messageOf(error)}`;
        return { answer: { kind: "error", code: "Unavailable", message }, usage: meter.usage() };
      } finally {
        leave();
      }
    },
    // Its connections are those of its cloud.
    close: () => {},
  };
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

function failed({ code, message }: Fault): Observation {
  return { kind: "error", code: codeOf(code), message };
}

const ABORTED: Observation = { kind: "error", code: "Aborted", message: "aborted before Rancher was asked" };

const NOT_UNDERSTOOD: Observation = {
  kind: "error",
  code: "Invalid",
  message: "loadBalancers is asked something that it does not understand",
};
