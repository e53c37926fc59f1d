import type { AskContext } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { change, referenceTo } from "#core/decisions.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { holdersThen, markOf } from "#core/service/mark.ts";
import type { LoadBalancerModel, Problem } from "#core/service/model.ts";
import { hashOfIngress, ingressOf } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { standingOf } from "#core/service/standing.ts";
import { sentenceOf, warningOf } from "#core/service/trouble.ts";
import { countHolders } from "#core/service/turn.ts";
import { giveUp } from "#core/service/writes.ts";

/**
 * Says on a Service that what was made of it goes again, as the cloud refuses the rest: with that nobody makes it anew before all of
 * it is gone, whoever is killed in between. Undefined of one that ever had a load balancer, which stays as it is.
 */
export function startUndoing(
  service: Service,
  problem: Problem,
  model: LoadBalancerModel,
  context: AskContext,
): Decision | undefined {
  const mark = markOf(service);
  const isFirst = mark?.state === "applying" && mark.desired === "" && ingressOf(service).length === 0;
  const standing = isFirst ? standingOf(service, model, context) : undefined;
  if (standing?.kind !== "asking") return undefined;
  const { hashes, nodes } = standing.wish;
  const { code, field } = problem;
  const holders = countHolders(service, context.related);
  const given = giveUp(service, {
    ...hashes,
    ...(holders === undefined ? {} : { targets: holdersThen(holders) }),
    state: "undoing",
    refused: { code, ...(field === undefined ? {} : { field }) },
    ingress: hashOfIngress([]),
    nodes: nodes.resourceVersion,
    at: context.now.toISOString(),
  });
  const because = { code, message: sentenceOf(problem) };
  return change(referenceTo(SERVICES, service), [given], { because, events: [warningOf(service, problem)] });
}
