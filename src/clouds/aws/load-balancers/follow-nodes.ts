import {
  formatAnnotationName,
  readValidAnnotations,
  type ValidAnnotations,
} from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { buildClassicContext, type ClassicContext } from "#clouds/aws/load-balancers/classic/context.ts";
import { chooseInstances, planInstances } from "#clouds/aws/load-balancers/classic/instances.ts";
import { isOwnClassicBalancer } from "#clouds/aws/load-balancers/classic/remove.ts";
import { contextFor, type LoadBalancerContext } from "#clouds/aws/load-balancers/context.ts";
import { isOwnBalancer } from "#clouds/aws/load-balancers/network/context.ts";
import { spreadRules } from "#clouds/aws/load-balancers/network/node-rules.ts";
import { listUsedTargetGroups } from "#clouds/aws/load-balancers/network/target-groups.ts";
import {
  chooseTargets,
  planTargetDeregistration,
  planTargetRegistration,
} from "#clouds/aws/load-balancers/network/targets.ts";
import { checkNodeLabels, getTargetInstanceId } from "#clouds/aws/load-balancers/select-target.ts";
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
  const networkContext = contextFor(question.service, state, settings);
  const classicContext = buildClassicContext(question, state, settings);
  const parts = [
    ...(networkContext !== undefined && isOwnBalancer(networkContext)
      ? [planNetworkTargets(question, networkContext)]
      : []),
    ...(isOwnClassicBalancer(classicContext) ? [planClassicTargets(question, classicContext)] : []),
  ];
  const plans = parts.filter((part) => part !== undefined);
  return plans.length === 0 ? undefined : plans.flat();
};

type FollowPlan = readonly LoadBalancerAction[] | undefined;

function planNetworkTargets(
  { service, nodes }: LoadBalancerQuestion,
  context: LoadBalancerContext,
): FollowPlan {
  const readable = readValidAnnotations("network", service.metadata.annotations);
  const groups = listUsedTargetGroups(context);
  const registered = groups.flatMap(({ targets }) => targets.flatMap(({ Id }) => Id ?? []));
  const chosen = selectChoosable(nodes, readable, registered);
  if (chosen === undefined || groups.length === 0) return undefined;
  const targets = chooseTargets(
    chosen,
    {
      labels: readable.annotations["target-node-labels"],
      family: groups.every(({ group }: TargetGroupState) => group.IpAddressType === "ipv6") ? "ipv6" : "ipv4",
      groupCount: groups.length,
      isAcrossZones: readable.annotations["cross-zone-load-balancing-enabled"] === true,
    },
    context,
  );
  const { ids, keptIds } = targets;
  // The last target of a rejected Service stays.
  const deregistrations =
    ids.length === 0 && keptIds.length === 0 ? [] : planTargetDeregistration(groups, targets);
  return [...planTargetRegistration(groups, ids), ...deregistrations, ...spreadRules(ids, context)];
}

function planClassicTargets({ service, nodes }: LoadBalancerQuestion, context: ClassicContext): FollowPlan {
  const { state, configuration, owner, allow } = context;
  if (state.classic === undefined) return undefined;
  const { Instances: registered = [], SecurityGroups: frontGroupIds = [] } = state.classic.loadBalancer;
  const readable = readValidAnnotations("classic", service.metadata.annotations);
  const chosen = selectChoosable(
    nodes,
    readable,
    registered.flatMap(({ InstanceId: id }) => id ?? []),
  );
  if (chosen === undefined) return undefined;
  const narrowedContext: ClassicContext = { ...context, question: { ...context.question, nodes: chosen } };
  const instances = chooseInstances(narrowedContext, readable.annotations);
  if ("code" in instances) return undefined;
  // The last target of a rejected Service stays.
  if (instances.ids.length === 0 && instances.keptIds.length === 0) return undefined;
  const rules = spreadNodeRules(
    {
      disabled: configuration.disableSecurityGroupIngress === true,
      clusterTag: owner.clusterTag,
      allow,
      instanceIds: instances.ids,
      isNeeded: ({ from, protocol, peer }) =>
        from === "group" && protocol === "-1" && frontGroupIds.includes(peer),
    },
    state.vpc,
  );
  return [...planInstances(state.classic, instances), ...rules];
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
  return checkNodeLabels(nodes, annotations["target-node-labels"]) === undefined ? nodes : undefined;
}
