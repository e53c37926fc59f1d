import {
  annotationName,
  readValidAnnotations,
  type ValidAnnotations,
} from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { type ClassicContext, contextOf } from "#clouds/aws/load-balancers/classic/context.ts";
import { chooseInstances, planInstances } from "#clouds/aws/load-balancers/classic/instances.ts";
import { isOurs } from "#clouds/aws/load-balancers/classic/remove.ts";
import { spreadRules } from "#clouds/aws/load-balancers/network/node-rules.ts";
import { isOwnBalancer } from "#clouds/aws/load-balancers/network/own-balancer.ts";
import { groupsInUse } from "#clouds/aws/load-balancers/network/target-groups.ts";
import {
  chooseTargets,
  deregisterTargets,
  registerTargets,
} from "#clouds/aws/load-balancers/network/targets.ts";
import type { AwsLoadBalancerState, TargetGroupState } from "#clouds/aws/load-balancers/state.ts";
import { targetOf } from "#clouds/aws/load-balancers/target-of.ts";
import { spreadNodeRules } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import { type Whose, whoseOf } from "#clouds/aws/load-balancers/whose.ts";
import type {
  LoadBalancerAction,
  LoadBalancerModel,
  LoadBalancerQuestion,
  TargetNode,
} from "#core/service/model.ts";

/**
 * Returns what is to be done for the load balancers that a Service has, of either kind, to send to its nodes, while something else that it
 * asks for is refused. Targets are registered and deregistered, and groups of nodes that are new to a load balancer let it in as others
 * do. Undefined where AWS shows none of the Service's, or where nobody has told the labels by which its annotation chooses nodes.
 */
export const followNodesOnAws: NonNullable<LoadBalancerModel["followNodes"]> = (
  question,
  observed,
  settings,
) => {
  // The observation is our own capability's, which has parsed what AWS answered.
  const state = observed as AwsLoadBalancerState;
  const whose = whoseOf(question.service, state, settings);
  const context = contextOf(question, state, settings);
  const parts = [
    ...(whose !== undefined && isOwnBalancer(whose) ? [followOfNetwork(question, whose)] : []),
    ...(isOurs(context) ? [followOfClassic(question, context)] : []),
  ];
  const known = parts.filter((part) => part !== undefined);
  return known.length === 0 ? undefined : known.flat();
};

type Follow = readonly LoadBalancerAction[] | undefined;

function followOfNetwork({ service, nodes }: LoadBalancerQuestion, whose: Whose): Follow {
  const said = readValidAnnotations("network", service.metadata.annotations);
  const groups = groupsInUse(whose);
  const registered = groups.flatMap(({ targets }) => targets.flatMap(({ Id }) => Id ?? []));
  const chosen = choosable(nodes, said, registered);
  if (chosen === undefined || groups.length === 0) return undefined;
  const { ids } = chooseTargets(
    chosen,
    {
      labels: said.annotations["target-node-labels"],
      family: groups.every(({ group }: TargetGroupState) => group.IpAddressType === "ipv6") ? "ipv6" : "ipv4",
      groupCount: groups.length,
      isAcrossZones: said.annotations["cross-zone-load-balancing-enabled"] === true,
    },
    whose,
  );
  // Where no instance is shown, those that are registered stay.
  const gone = ids.length === 0 ? [] : deregisterTargets(groups, ids);
  return [...registerTargets(groups, ids), ...gone, ...spreadRules(ids, whose)];
}

function followOfClassic({ service, nodes }: LoadBalancerQuestion, context: ClassicContext): Follow {
  const { state, configuration, owner, allow } = context;
  if (state.classic === undefined) return undefined;
  const { Instances: registered = [], SecurityGroups: fronts = [] } = state.classic.loadBalancer;
  const said = readValidAnnotations("classic", service.metadata.annotations);
  const chosen = choosable(
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
 * The nodes that may be chosen: all; or those that are targets already where the annotation that chooses by label cannot be read. Undefined
 * where it chooses by labels that nobody has told.
 */
function choosable(
  nodes: readonly TargetNode[],
  { annotations, invalid }: ValidAnnotations,
  registered: readonly string[],
): readonly TargetNode[] | undefined {
  if (invalid.has(annotationName("target-node-labels")))
    return nodes.filter((node) => registered.includes(targetOf(node) ?? ""));
  const isUntold = annotations["target-node-labels"] !== undefined;
  return isUntold && nodes.every(({ labels }) => labels === undefined) ? undefined : nodes;
}
