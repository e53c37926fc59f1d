import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { getClusterTag, getConfiguration, getIdentity } from "#clouds/aws/load-balancers/configuration.ts";
import { contextFor } from "#clouds/aws/load-balancers/context.ts";
import {
  buildOrphanedService,
  listGroupNames,
  ORPHANED_TAG,
  restoreLastDigit,
} from "#clouds/aws/load-balancers/orphans/orphaned-service.ts";
import { planUnusedRules } from "#clouds/aws/load-balancers/orphans/unused-rules.ts";
import { isOwned, SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type { AwsLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";
import { toTagList } from "#clouds/aws/load-balancers/tags.ts";
import { planGroupRemoval } from "#clouds/aws/load-balancers/vpc/frontend-group.ts";
import { splitIntoChunks } from "#core/chunks.ts";
import { DEFAULT_CLUSTER_NAME } from "#core/contracts.ts";
import type { Holding } from "#core/service/holdings.ts";
import type {
  LoadBalancerAction,
  LoadBalancerQuestion,
  LoadBalancerStep,
  OrphanModel,
} from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";

/** Removes a Service's resources, as if the Service itself requested it. */
export type Removal = (
  question: LoadBalancerQuestion,
  state: AwsLoadBalancerState,
  settings: Settings,
) => LoadBalancerStep;

/**
 * Creates the model that marks and removes orphans on AWS: only resources that carry the tags of the cluster
 * and of that very Service.
 */
export function createOrphanModel(removal: Removal): OrphanModel {
  return {
    mark({ kind, id }, text) {
      const tags = toTagList({ [ORPHANED_TAG]: text });
      if (kind === "security group")
        return buildAction("ec2:CreateTags", id, { Resources: [id], Tags: tags });
      if (kind === "classic load balancer")
        return buildAction("elb:AddTags", id, { LoadBalancerNames: [id], Tags: tags });
      return buildAction("elbv2:AddTags", id, { ResourceArns: [id], Tags: tags });
    },
    unmark({ kind, id }) {
      const tags = [{ Key: ORPHANED_TAG }];
      if (kind === "security group")
        return buildAction("ec2:DeleteTags", id, { Resources: [id], Tags: tags });
      if (kind === "classic load balancer")
        return buildAction("elb:RemoveTags", id, { LoadBalancerNames: [id], Tags: tags });
      return buildAction("elbv2:RemoveTags", id, { ResourceArns: [id], TagKeys: [ORPHANED_TAG] });
    },
    tidyShared: planUnusedRules,
    planStep(holding, observed, settings) {
      // The observation comes from our own capability, which has parsed AWS's answers.
      const state = selectTagged(observed as AwsLoadBalancerState, holding, settings);
      const { clusterName = DEFAULT_CLUSTER_NAME } = getConfiguration(settings);
      const groupNames = new Set(state.vpc.groups.flatMap(({ group }) => group.GroupName ?? []));
      const service = restoreLastDigit(buildOrphanedService(holding), clusterName, groupNames);
      const question = { service, wanted: false, nodes: [] };
      const step = removal(question, state, settings);
      if (step.kind === "act") {
        const groupIds = listGroupsNamed(listGroupNames(service, clusterName), state);
        const [first, ...more] = arrangeRemoval(step.actions, holding, state, groupIds);
        return first === undefined ? step : { ...step, actions: [first, ...more] };
      }
      return step.kind === "settled" && holding.isPart
        ? removeGroups(holding, question, state, settings)
        : step;
    },
  };
}

/**
 * Removes from the state all resources that lack one of the tags, even if their name matches; groups of nodes
 * stay.
 */
function selectTagged(
  state: AwsLoadBalancerState,
  { service }: Holding,
  settings: Settings,
): AwsLoadBalancerState {
  const belongsToService = ({ tags }: { readonly tags: Pairs }): boolean =>
    isOwned(tags, getClusterTag(settings)) && tags[SERVICE_TAG] === service;
  const { network, classic, ...rest } = state;
  return {
    ...rest,
    ...(network !== undefined && belongsToService(network) ? { network } : {}),
    ...(classic !== undefined && belongsToService(classic) ? { classic } : {}),
    targetGroups: state.targetGroups.filter(belongsToService),
  };
}

function listGroupsNamed(names: readonly string[], { vpc }: AwsLoadBalancerState): readonly string[] {
  return vpc.groups.flatMap(({ group: { GroupId: id = "", GroupName: name = "" } }) =>
    names.includes(name) ? [id] : [],
  );
}

/**
 * Removes security groups that only their tags identify: the load balancer that named them no longer exists.
 */
function removeGroups(
  { service }: Holding,
  question: LoadBalancerQuestion,
  state: AwsLoadBalancerState,
  settings: Settings,
): LoadBalancerStep {
  const context = contextFor(question.service, state, settings);
  const groupIds = state.vpc.groups
    .filter(({ tags }) => tags[SERVICE_TAG] === service)
    .flatMap(({ group }) => group.GroupId ?? []);
  const removed =
    context &&
    planGroupRemoval({ owner: context.owner, identity: getIdentity(settings), groupIds }, state.vpc);
  if (removed?.kind !== "act") return { kind: "settled", ingress: [], warnings: [] };
  const because = {
    code: "DeletingSecurityGroups",
    message: "the remaining security groups of a deleted load balancer are deleted",
  };
  return { kind: "act", because, actions: removed.actions };
}

/** AWS's maximum of resources per request that adds tags. */
const MAX_TAGGED = 20;

/**
 * Orders the actions of a removal so that it can be interrupted anywhere: no Service records the resources
 * any more. Resources that outlive the load balancer get tags that name their owner first. Rules that only
 * the load balancer's name identifies are removed before it. `groupIds` are the security groups created for
 * it.
 */
function arrangeRemoval(
  actions: readonly LoadBalancerAction[],
  { service = "", mark }: Holding,
  state: AwsLoadBalancerState,
  groupIds: readonly string[],
): readonly LoadBalancerAction[] {
  const { revoking = [], others = [] } = Object.groupBy(actions, ({ action }) =>
    action === "ec2:RevokeSecurityGroupIngress" ? "revoking" : "others",
  );
  if (!others.some(({ action }) => action.endsWith(":DeleteLoadBalancer"))) return [...revoking, ...others];
  const tags = { [SERVICE_TAG]: service, ...(mark === undefined ? {} : { [ORPHANED_TAG]: mark }) };
  const needsTags = (actual: Pairs): boolean =>
    Object.entries(tags).some(([key, value]) => actual[key] !== value);
  const groups = state.vpc.groups.flatMap(({ group: { GroupId: id = "" }, tags: actual }) =>
    groupIds.includes(id) && needsTags(actual) ? [id] : [],
  );
  const targetGroups = state.targetGroups.flatMap(({ group, tags: actual }) =>
    needsTags(actual) ? (group.TargetGroupArn ?? []) : [],
  );
  const Tags = toTagList(tags);
  return [
    ...splitIntoChunks(groups, MAX_TAGGED).map((ids) =>
      buildAction("ec2:CreateTags", ids.join(), { Resources: ids, Tags }),
    ),
    ...splitIntoChunks(targetGroups, MAX_TAGGED).map((arns) =>
      buildAction("elbv2:AddTags", arns.join(), { ResourceArns: arns, Tags }),
    ),
    ...revoking,
    ...others,
  ];
}
