import type { DecisionContext } from "#core/controller.ts";
import { retry, toReference } from "#core/decisions.ts";
import { SERVICES } from "#core/resources/resource.ts";
import type { Retry } from "#core/service/issue-decisions.ts";
import { IN_PROGRESS } from "#core/service/issues.ts";
import type { LoadBalancerModel, LoadBalancerQuestion } from "#core/service/model.ts";
import { readListedNodes } from "#core/service/target-nodes.ts";

/** The inputs that show whether targets would be lost: the question, and the observed state of the cloud. */
interface LostTargetsContext {
  readonly question: LoadBalancerQuestion;
  readonly observed: unknown;
  readonly model: LoadBalancerModel;
}

/**
 * Returns whether a load balancer has targets that are not nodes of the event. The nodes are listed before
 * such targets are removed.
 */
export function hasLostTargets({ question, observed, model }: LostTargetsContext): boolean {
  return (model.listLostTargets?.(question, observed) ?? []).length > 0;
}

/**
 * Returns a retry in place of a step that removes targets which the API server still lists as nodes; an event
 * with these nodes must come first. The nodes of an event prove no absence, because an event may be old or
 * forged. Undefined when no listed node loses its place.
 */
export function keepListedTargets(lost: LostTargetsContext, context: DecisionContext): Retry | undefined {
  const { question, observed, model } = lost;
  const ids = new Set(model.listLostTargets?.(question, observed));
  if (ids.size === 0) return undefined;
  const { service } = question;
  const listed = readListedNodes(context);
  if (listed.kind === "unproven") return keep(lost, listed.message, UNPROVEN_SECONDS);
  const brought = new Set(question.nodes.map((node) => model.getTarget(node, service)));
  const lacking = listed.nodes.filter((node) => {
    const target = model.getTarget(node, service);
    return target !== undefined && !brought.has(target) && (ids.has(target) || ids.has(undefined));
  });
  if (lacking.length === 0) return undefined;
  const message = `the API server lists ${lacking.length} nodes with targets that the event does not bring`;
  return keep(lost, message, LISTED_SECONDS);
}

const UNPROVEN_SECONDS = 10;
const LISTED_SECONDS = 2;

function keep({ question: { service } }: LostTargetsContext, message: string, afterSeconds: number): Retry {
  const because = { code: IN_PROGRESS, message: `${message}: the load balancer keeps its targets` };
  return retry(toReference(SERVICES, service), because, afterSeconds);
}
