import type { Cloud } from "#clouds/cloud.ts";
import type { ClusterObject } from "#core/cluster-object.ts";
import type { Controller, DecisionContext, Subject } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";

/**
 * Observes, decides and applies until nothing is left, as a function does for a controller of a whole
 * cluster.
 */
export async function playController<Answer>(
  controller: Controller<ClusterObject, Answer>,
  object: ClusterObject,
  cloud: Cloud,
  context: DecisionContext,
): Promise<Decision> {
  const call = { signal: new AbortController().signal, share: 1 };
  const question = controller.buildQuestion(object, context);
  const capability = cloud.capabilities?.[question?.capability ?? ""];
  const ask = question !== undefined && "ask" in question ? question.ask : undefined;
  const observed = question && (await capability?.observe([ask], call));
  let subject = { object, answer: observed?.answers[0], hint: undefined } as Subject<ClusterObject, Answer>;
  for (let round = 0; round < 5; round += 1) {
    const isCounted = controller.getStateReference?.([subject], context) !== undefined;
    const plan = controller.decide([subject], isCounted ? context : { ...context, count: undefined });
    const [decision] = plan.kind === "each" ? plan.decisions : [];
    if (decision === undefined) throw new Error("nothing was decided");
    if (decision.kind !== "change") return decision;
    for (const write of decision.writes) {
      if (write.on !== "cloud" || capability === undefined) throw new Error("no action of a capability");
      const { answer } = await capability.act(write, call);
      if (answer.kind === "done") {
        subject = controller.applyResult?.(subject, { write, result: answer.result }) ?? subject;
        continue;
      }
      const refused = controller.decideRejected?.(subject, { action: write, answer }, context);
      const because = {
        code: answer.kind === "conflict" ? "Conflict" : answer.code,
        message: answer.message,
      };
      return refused ?? { ...decision, kind: "retry", because, afterSeconds: 0, events: [] };
    }
  }
  throw new Error("it never ends");
}
