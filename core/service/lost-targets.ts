import type { DecisionContext } from "#core/controller.ts";
import { referenceTo, retry } from "#core/decisions.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { readListedNodes } from "#core/service/listed-nodes.ts";
import type { LoadBalancerModel, LoadBalancerQuestion } from "#core/service/model.ts";
import { IN_PROGRESS } from "#core/service/problems.ts";
import type { Retry } from "#core/service/trouble.ts";

/** What shows whether targets would go: the question, and what the cloud was seen to have. */
interface Lost {
  readonly question: LoadBalancerQuestion;
  readonly observed: unknown;
  readonly model: LoadBalancerModel;
}

/** Whether a load balancer has targets that are none of the event's nodes: the nodes are listed before these go. */
export function losesTargets({ question, observed, model }: Lost): boolean {
  return (model.lostTargets?.(question, observed) ?? []).length > 0;
}

/**
 * Returns what is done in place of a step that takes targets away which the API server lists as nodes: nothing, until an event brings these
 * nodes. The nodes of an event prove no absence, because an event may be old or forged. Undefined where no listed node loses its place.
 */
export function keepListedTargets(lost: Lost, context: DecisionContext): Retry | undefined {
  const { question, observed, model } = lost;
  const ids = new Set(model.lostTargets?.(question, observed));
  if (ids.size === 0) return undefined;
  const { service } = question;
  const listed = readListedNodes(context);
  if (listed.kind === "unproven") return keep(lost, listed.message, UNPROVEN_SECONDS);
  const brought = new Set(question.nodes.map((node) => model.targetOf(node, service)));
  const lacking = listed.nodes.filter((node) => {
    const target = model.targetOf(node, service);
    return target !== undefined && !brought.has(target) && (ids.has(target) || ids.has(undefined));
  });
  if (lacking.length === 0) return undefined;
  const message = `the API server lists ${lacking.length} nodes with targets that the event does not bring`;
  return keep(lost, message, LISTED_SECONDS);
}

const UNPROVEN_SECONDS = 10;
const LISTED_SECONDS = 2;

function keep({ question: { service } }: Lost, message: string, afterSeconds: number): Retry {
  const because = { code: IN_PROGRESS, message: `${message}: the load balancer keeps its targets` };
  return retry(referenceTo(SERVICES, service), because, afterSeconds);
}
