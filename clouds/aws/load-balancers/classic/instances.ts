import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import { hasLabels } from "#clouds/aws/load-balancers/annotations/target-node-labels.ts";
import type { ClassicContext } from "#clouds/aws/load-balancers/classic/context.ts";
import type { ClassicLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { targetOf } from "#clouds/aws/load-balancers/target-of.ts";
import type { LoadBalancerAction, Problem } from "#core/service/model.ts";

/** Which instances a load balancer is to send to. */
export interface InstancesWanted {
  readonly ids: readonly string[];
  /** Names of nodes whose instances AWS does not show yet, or shows without the cluster's tag. */
  readonly awaited: readonly string[];
  readonly warnings: readonly Problem[];
}

/** The instances of nodes that carry the labels asked for; of more than AWS takes, those that are registered stay. */
export function chooseInstances(
  { question, state }: ClassicContext,
  annotations: Annotations,
): InstancesWanted | Problem {
  const labels = annotations["target-node-labels"];
  if (
    labels !== undefined &&
    question.nodes.length > 0 &&
    question.nodes.every(({ labels: known }) => known === undefined)
  )
    return labelsUnknown();
  const ids = new Set<string>();
  const awaited: string[] = [];
  for (const node of question.nodes) {
    const id = targetOf(node);
    if (id === undefined || !hasLabels(node.labels, labels)) continue;
    const instance = Object.hasOwn(state.vpc.instances, id) ? state.vpc.instances[id] : undefined;
    if (instance === undefined) awaited.push(node.name);
    else if (!GONE.has(instance.state)) ids.add(id);
  }
  if (ids.size <= MAX_INSTANCES) return { ids: [...ids].sort(), awaited, warnings: [] };
  const registered = registeredOf(state.classic);
  const ranked = [...ids].sort().toSorted((a, b) => rank(a, registered) - rank(b, registered));
  const tooMany: Problem = {
    code: "TooManyTargets",
    value: String(ids.size),
    allowed: `at most ${MAX_INSTANCES} nodes; ${annotationName("target-node-labels")} chooses among them`,
    detail: `${MAX_INSTANCES} of ${ids.size} instances are targets`,
  };
  return { ids: ranked.slice(0, MAX_INSTANCES).sort(), awaited, warnings: [tooMany] };
}

/** Registers what is lacking, then takes away what is no target any more. */
export function planInstances(
  state: ClassicLoadBalancerState,
  wanted: readonly string[],
): readonly LoadBalancerAction[] {
  const name = state.loadBalancer.LoadBalancerName ?? "";
  const registered = registeredOf(state);
  const lacking = wanted.filter((id) => !registered.has(id));
  const surplus = [...registered].filter((id) => !wanted.includes(id)).sort();
  return [
    ...chunks(lacking).map((ids) =>
      awsAction("elb:RegisterInstancesWithLoadBalancer", name, {
        LoadBalancerName: name,
        Instances: of(ids),
      }),
    ),
    ...chunks(surplus).map((ids) =>
      awsAction("elb:DeregisterInstancesFromLoadBalancer", name, {
        LoadBalancerName: name,
        Instances: of(ids),
      }),
    ),
  ];
}

/** AWS's quota of instances of a classic load balancer. */
const MAX_INSTANCES = 1_000;

/** AWS refuses a call for one bad id, so that no more than these are at its mercy. */
const CHUNK = 100;

/** What never runs again. */
const GONE: ReadonlySet<string> = new Set(["shutting-down", "terminated"]);

function registeredOf(state: ClassicLoadBalancerState | undefined): ReadonlySet<string> {
  return new Set((state?.loadBalancer.Instances ?? []).flatMap(({ InstanceId: id }) => id ?? []));
}

function rank(id: string, registered: ReadonlySet<string>): number {
  return registered.has(id) ? 0 : 1;
}

function of(ids: readonly string[]): { InstanceId: string }[] {
  return ids.map((InstanceId) => ({ InstanceId }));
}

function chunks<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / CHUNK) }, (_, index) =>
    items.slice(index * CHUNK, (index + 1) * CHUNK),
  );
}

/** Without knowing labels, none would be left, and all targets would go. */
function labelsUnknown(): Problem {
  const field = annotationName("target-node-labels");
  return { code: "LoadBalancerRefused", field, detail: "the labels of no node are known" };
}
