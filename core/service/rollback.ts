import type { AskContext } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { change, toReference } from "#core/decisions.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { countHolders } from "#core/service/creation-order.ts";
import { buildWarning, describeIssue } from "#core/service/issue-decisions.ts";
import type { Issue, LoadBalancerModel } from "#core/service/model.ts";
import { getIngress, hashOfIngress } from "#core/service/needs-work.ts";
import { decidePhase } from "#core/service/phase.ts";
import type { Service } from "#core/service/service.ts";
import { formatHolderCount, parseStateAnnotation } from "#core/service/state-annotation.ts";
import { writeRollback } from "#core/service/writes.ts";

/**
 * Records on a Service that its resources are being removed, because the cloud refused a later step. So no
 * actor creates them again before all are gone, even if an actor dies in between. Returns undefined, and
 * changes nothing, if the Service ever had a load balancer or if its phase is not `asking`.
 */
export function startRollback(
  service: Service,
  issue: Issue,
  model: LoadBalancerModel,
  context: AskContext,
): Decision | undefined {
  const annotation = parseStateAnnotation(service);
  const isFirstAttempt =
    annotation?.state === "applying" && annotation.desired === "" && getIngress(service).length === 0;
  const phase = isFirstAttempt ? decidePhase(service, model, context) : undefined;
  if (phase?.kind !== "asking") return undefined;
  const { hashes, nodes } = phase.desired;
  const { code, field } = issue;
  const quotaHolders = countHolders(service, context.related);
  const write = writeRollback(service, {
    ...hashes,
    // A refused Service has no targets. The wire field `targets` holds how many other Services have a load
    // balancer.
    ...(quotaHolders === undefined ? {} : { targets: formatHolderCount(quotaHolders) }),
    state: "undoing",
    refused: { code, ...(field === undefined ? {} : { field }) },
    ingress: hashOfIngress([]),
    nodes: nodes.resourceVersion,
    at: context.now.toISOString(),
  });
  const because = { code, message: describeIssue(issue) };
  return change(toReference(SERVICES, service), [write], {
    because,
    events: [buildWarning(service, issue)],
  });
}
