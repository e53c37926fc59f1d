import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import type { ClassicContext } from "#clouds/aws/load-balancers/classic/context.ts";
import { checkNodeLabels, selectKeptTargets, selectNodes } from "#clouds/aws/load-balancers/select-target.ts";
import type { ClassicLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { splitIntoChunks } from "#core/chunks.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";

/** The desired instances of a load balancer. */
export interface DesiredInstances {
  readonly ids: readonly string[];
  /** Registered instances that stay, although they are no desired instances. */
  readonly keptIds: readonly string[];
  /** Names of nodes whose instances AWS does not show yet, or shows without the cluster's tag. */
  readonly awaitedNodes: readonly string[];
  readonly warnings: readonly Issue[];
}

/**
 * Selects the instances of nodes with the required labels. If there are more than AWS allows, registered ones
 * stay.
 */
export function chooseInstances(
  { question, state }: ClassicContext,
  annotations: Annotations,
): DesiredInstances | Issue {
  const labels = annotations["target-node-labels"];
  const labelIssue = checkNodeLabels(question.nodes, labels);
  if (labelIssue !== undefined) return labelIssue;
  const selected = selectNodes(question.nodes, labels, state.vpc);
  const ids = new Set<string>();
  const awaitedNodes: string[] = [];
  for (const { name, id, instance } of selected) {
    if (instance === undefined) awaitedNodes.push(name);
    else if (!ENDED_STATES.has(instance.state)) ids.add(id);
  }
  const registered = listRegisteredInstances(state.classic);
  const keptIds = selectKeptTargets(registered, selected, [...ids], state.vpc);
  if (ids.size <= MAX_INSTANCES) return { ids: [...ids].sort(), keptIds, awaitedNodes, warnings: [] };
  const ranked = [...ids]
    .sort()
    .toSorted((a, b) => rankInstance(a, registered) - rankInstance(b, registered));
  const tooMany: Issue = {
    code: "TooManyTargets",
    value: String(ids.size),
    allowed: `at most ${MAX_INSTANCES} nodes; ${formatAnnotationName("target-node-labels")} chooses among them`,
    detail: `${MAX_INSTANCES} of ${ids.size} instances are targets`,
  };
  return { ids: ranked.slice(0, MAX_INSTANCES).sort(), keptIds, awaitedNodes, warnings: [tooMany] };
}

/** Registers missing instances, then deregisters those that are neither desired nor kept. */
export function planInstances(
  state: ClassicLoadBalancerState,
  { ids: desiredIds, keptIds }: Pick<DesiredInstances, "ids" | "keptIds">,
): readonly LoadBalancerAction[] {
  const name = state.loadBalancer.LoadBalancerName ?? "";
  const registered = listRegisteredInstances(state);
  const missing = desiredIds.filter((id) => !registered.has(id));
  const stayingIds = new Set([...desiredIds, ...keptIds]);
  const surplus = [...registered].filter((id) => !stayingIds.has(id)).sort();
  return [
    ...splitIntoChunks(missing, CHUNK_SIZE).map((ids) =>
      buildAction("elb:RegisterInstancesWithLoadBalancer", name, {
        LoadBalancerName: name,
        Instances: toInstanceList(ids),
      }),
    ),
    ...splitIntoChunks(surplus, CHUNK_SIZE).map((ids) =>
      buildAction("elb:DeregisterInstancesFromLoadBalancer", name, {
        LoadBalancerName: name,
        Instances: toInstanceList(ids),
      }),
    ),
  ];
}

/** AWS's quota of instances per classic load balancer. */
const MAX_INSTANCES = 1_000;

/**
 * Instances per request: AWS rejects a whole request because of one bad id, which then affects no more than
 * these.
 */
const CHUNK_SIZE = 100;

/** States from which an instance never runs again. */
const ENDED_STATES: ReadonlySet<string> = new Set(["shutting-down", "terminated"]);

function listRegisteredInstances(state: ClassicLoadBalancerState | undefined): ReadonlySet<string> {
  return new Set((state?.loadBalancer.Instances ?? []).flatMap(({ InstanceId: id }) => id ?? []));
}

function rankInstance(id: string, registered: ReadonlySet<string>): number {
  return registered.has(id) ? 0 : 1;
}

function toInstanceList(ids: readonly string[]): { InstanceId: string }[] {
  return ids.map((InstanceId) => ({ InstanceId }));
}
