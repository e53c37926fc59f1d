import {
  formatAnnotationName,
  readValidAnnotations,
  type ValidAnnotations,
} from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { buildClassicContext, type ClassicContext } from "#clouds/aws/load-balancers/classic/context.ts";
import { chooseInstances, planInstances } from "#clouds/aws/load-balancers/classic/instances.ts";
import { isOurs } from "#clouds/aws/load-balancers/classic/remove.ts";
import { contextFor, type LoadBalancerContext } from "#clouds/aws/load-balancers/context.ts";
import { isOwnBalancer } from "#clouds/aws/load-balancers/network/name-taken.ts";
import { spreadRules } from "#clouds/aws/load-balancers/network/node-rules.ts";
import { listUsedTargetGroups } from "#clouds/aws/load-balancers/network/target-groups.ts";
import {
  chooseTargets,
  deregisterTargets,
  registerTargets,
} from "#clouds/aws/load-balancers/network/targets.ts";
import { getTargetInstanceId } from "#clouds/aws/load-balancers/select-target.ts";
import type { AwsLoadBalancerState, TargetGroupState } from "#clouds/aws/load-balancers/state.ts";
import { spreadNodeRules } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import type {
  LoadBalancerAction,
  LoadBalancerModel,
  LoadBalancerQuestion,
  TargetNode,
} from "#core/service/model.ts";

/**
 * Returns the actions that keep a Service's load balancers, of either type, on its nodes while another of its
 * requests is rejected. Targets are registered and deregistered. Node groups that are new to a load balancer
 * get the rules that others have. Undefined if AWS shows no load balancer of the Service, or if the labels
 * for its annotation are unknown.
 */
export const followNodesOnAws: NonNullable<LoadBalancerModel["followNodes"]> = (
  question,
  observed,
  settings,
) => {
  // The observation comes from our own capability, which has parsed AWS's answers.
  const state = observed as AwsLoadBalancerState;
  const whose = contextFor(question.service, state, settings);
  const context = buildClassicContext(question, state, settings);
  const parts = [
    ...(whose !== undefined && isOwnBalancer(whose) ? [followOfNetwork(question, whose)] : []),
    ...(isOurs(context) ? [followOfClassic(question, context)] : []),
  ];
  const known = parts.filter((part) => part !== undefined);
  return known.length === 0 ? undefined : known.flat();
};

type Follow = readonly LoadBalancerAction[] | undefined;

function followOfNetwork({ service, nodes }: LoadBalancerQuestion, context: LoadBalancerContext): Follow {
  const said = readValidAnnotations("network", service.metadata.annotations);
  const groups = listUsedTargetGroups(context);
  const registered = groups.flatMap(({ targets }) => targets.flatMap(({ Id }) => Id ?? []));
  const chosen = selectChoosable(nodes, said, registered);
  if (chosen === undefined || groups.length === 0) return undefined;
  const { ids } = chooseTargets(
    chosen,
    {
      labels: said.annotations["target-node-labels"],
      family: groups.every(({ group }: TargetGroupState) => group.IpAddressType === "ipv6") ? "ipv6" : "ipv4",
      groupCount: groups.length,
      isAcrossZones: said.annotations["cross-zone-load-balancing-enabled"] === true,
    },
    context,
  );
  // If no instance is shown, registered ones stay.
  const gone = ids.length === 0 ? [] : deregisterTargets(groups, ids);
  return [...registerTargets(groups, ids), ...gone, ...spreadRules(ids, context)];
}

function followOfClassic({ service, nodes }: LoadBalancerQuestion, context: ClassicContext): Follow {
  const { state, configuration, owner, allow } = context;
  if (state.classic === undefined) return undefined;
  const { Instances: registered = [], SecurityGroups: fronts = [] } = state.classic.loadBalancer;
  const said = readValidAnnotations("classic", service.metadata.annotations);
  const chosen = selectChoosable(
    nodes,
    said,
    registered.flatMap(({ InstanceId: id }) => id ?? []),
  );
  if (chosen === undefined) return undefined;
  const of: ClassicContext = { ...context, question: { ...context.question, nodes: chosen } };
  const instances = chooseInstances(of, said.annotations);
  if ("code" in instances || instances.ids.length === 0) return undefined;
  const rules = spreadNodeRules(
    {
      disabled: configuration.disableSecurityGroupIngress === true,
      clusterTag: owner.clusterTag,
      allow,
      instanceIds: instances.ids,
      isNeeded: ({ from, protocol, peer }) => from === "group" && protocol === "-1" && fronts.includes(peer),
    },
    state.vpc,
  );
  return [...planInstances(state.classic, instances.ids), ...rules];
}

/**
 * Returns the nodes that may be selected: all, or only current targets if the annotation for labels is
 * invalid. Undefined if it selects by labels that are unknown.
 */
function selectChoosable(
  nodes: readonly TargetNode[],
  { annotations, invalid }: ValidAnnotations,
  registered: readonly string[],
): readonly TargetNode[] | undefined {
  if (invalid.has(formatAnnotationName("target-node-labels")))
    return nodes.filter((node) => registered.includes(getTargetInstanceId(node) ?? ""));
  const isUntold = annotations["target-node-labels"] !== undefined;
  return isUntold && nodes.every(({ labels }) => labels === undefined) ? undefined : nodes;
}
