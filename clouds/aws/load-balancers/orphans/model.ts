import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { clusterTagOf, configurationOf, identityFor } from "#clouds/aws/load-balancers/configuration.ts";
import { arrangeRemoval } from "#clouds/aws/load-balancers/orphans/arrange-removal.ts";
import {
  groupNamesOf,
  orphanedService,
  withLastDigit,
} from "#clouds/aws/load-balancers/orphans/orphaned-service.ts";
import { ORPHANED_TAG } from "#clouds/aws/load-balancers/orphans/tag.ts";
import { planUnusedRules } from "#clouds/aws/load-balancers/orphans/unused-rules.ts";
import { isOwned, SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type { AwsLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";
import { tagList } from "#clouds/aws/load-balancers/tags.ts";
import { planRemovedGroups } from "#clouds/aws/load-balancers/vpc/remove-groups.ts";
import { whoseOf } from "#clouds/aws/load-balancers/whose.ts";
import type { Holding } from "#core/service/holdings.ts";
import type { LoadBalancerQuestion, LoadBalancerStep, OrphanModel } from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";

/** What there is of a Service goes, as it does where the Service itself says so. */
export type Removal = (
  question: LoadBalancerQuestion,
  state: AwsLoadBalancerState,
  settings: Settings,
) => LoadBalancerStep;

/** How what is orphaned on AWS is marked, and goes: only ever what carries the tags of the cluster and of that very Service. */
export function createOrphanModel(removal: Removal): OrphanModel {
  return {
    mark({ kind, id }, text) {
      const tags = tagList({ [ORPHANED_TAG]: text });
      if (kind === "security group") return awsAction("ec2:CreateTags", id, { Resources: [id], Tags: tags });
      if (kind === "classic load balancer")
        return awsAction("elb:AddTags", id, { LoadBalancerNames: [id], Tags: tags });
      return awsAction("elbv2:AddTags", id, { ResourceArns: [id], Tags: tags });
    },
    unmark({ kind, id }) {
      const tags = [{ Key: ORPHANED_TAG }];
      if (kind === "security group") return awsAction("ec2:DeleteTags", id, { Resources: [id], Tags: tags });
      if (kind === "classic load balancer")
        return awsAction("elb:RemoveTags", id, { LoadBalancerNames: [id], Tags: tags });
      return awsAction("elbv2:RemoveTags", id, { ResourceArns: [id], TagKeys: [ORPHANED_TAG] });
    },
    tidyShared: planUnusedRules,
    next(holding, observed, settings) {
      // The observation is our own capability's, which has parsed what AWS answered.
      const state = tagged(observed as AwsLoadBalancerState, holding, settings);
      const { clusterName = "kubernetes" } = configurationOf(settings);
      const groupNames = new Set(state.vpc.groups.flatMap(({ group }) => group.GroupName ?? []));
      const service = withLastDigit(orphanedService(holding), clusterName, groupNames);
      const question = { service, wanted: false, nodes: [] };
      const step = removal(question, state, settings);
      if (step.kind === "act") {
        const groupIds = groupsNamed(groupNamesOf(service, clusterName), state);
        const [first, ...more] = arrangeRemoval(step.actions, holding, state, groupIds);
        return first === undefined ? step : { ...step, actions: [first, ...more] };
      }
      return step.kind === "settled" && holding.isPart
        ? removeGroups(holding, question, state, settings)
        : step;
    },
  };
}

/** The state without whatever lacks one of the tags, though its name be right; groups of nodes are among the rest. */
function tagged(state: AwsLoadBalancerState, { service }: Holding, settings: Settings): AwsLoadBalancerState {
  const isIts = ({ tags }: { readonly tags: Pairs }): boolean =>
    isOwned(tags, clusterTagOf(settings)) && tags[SERVICE_TAG] === service;
  const { network, classic, ...rest } = state;
  return {
    ...rest,
    ...(network !== undefined && isIts(network) ? { network } : {}),
    ...(classic !== undefined && isIts(classic) ? { classic } : {}),
    targetGroups: state.targetGroups.filter(isIts),
  };
}

function groupsNamed(names: readonly string[], { vpc }: AwsLoadBalancerState): readonly string[] {
  return vpc.groups.flatMap(({ group: { GroupId: id = "", GroupName: name = "" } }) =>
    names.includes(name) ? [id] : [],
  );
}

/** Security groups that only their tags tell by now: no load balancer of the Service is left, by whose name they are called. */
function removeGroups(
  { service }: Holding,
  question: LoadBalancerQuestion,
  state: AwsLoadBalancerState,
  settings: Settings,
): LoadBalancerStep {
  const whose = whoseOf(question.service, state, settings);
  const groupIds = state.vpc.groups
    .filter(({ tags }) => tags[SERVICE_TAG] === service)
    .flatMap(({ group }) => group.GroupId ?? []);
  const removed =
    whose && planRemovedGroups({ owner: whose.owner, identity: identityFor(settings), groupIds }, state.vpc);
  if (removed?.kind !== "act") return { kind: "settled", ingress: [], warnings: [] };
  const because = { code: "DeletingSecurityGroups", message: "security groups that are left of it go" };
  return { kind: "act", because, actions: removed.actions };
}
