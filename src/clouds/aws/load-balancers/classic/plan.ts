import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { changeClassic } from "#clouds/aws/load-balancers/classic/change.ts";
import { buildClassicContext, type ClassicContext } from "#clouds/aws/load-balancers/classic/context.ts";
import { type ClassicDesiredState, readClassic } from "#clouds/aws/load-balancers/classic/desired-state.ts";
import { planGroups } from "#clouds/aws/load-balancers/classic/groups.ts";
import { chooseInstances, planInstances } from "#clouds/aws/load-balancers/classic/instances.ts";
import { isOwnClassicBalancer, removeClassic } from "#clouds/aws/load-balancers/classic/remove.ts";
import { getSubnetId } from "#clouds/aws/load-balancers/classic/subnets.ts";
import { isNameForeign } from "#clouds/aws/load-balancers/ownership.ts";
import type { AwsLoadBalancerState, SubnetState } from "#clouds/aws/load-balancers/state.ts";
import { buildServiceTags, toTagList } from "#clouds/aws/load-balancers/tags.ts";
import type { PlanResult } from "#clouds/aws/load-balancers/types.ts";
import { chooseSubnets } from "#clouds/aws/load-balancers/vpc/choose-subnets.ts";
import type {
  Issue,
  LoadBalancerAction,
  LoadBalancerQuestion,
  LoadBalancerStep,
} from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";

/** Returns why a Service cannot have a classic load balancer, as far as it is known without calling AWS. */
export function checkClassic(question: LoadBalancerQuestion, settings: Settings): Issue | undefined {
  const read = readClassic(question.service, settings);
  return read.kind === "refused" ? read.issue : undefined;
}

/**
 * Returns the next step that brings a Service's classic load balancer to its desired state, or removes it.
 */
export function planClassic(
  question: LoadBalancerQuestion,
  observed: AwsLoadBalancerState,
  settings: Settings,
): LoadBalancerStep {
  const context = buildClassicContext(question, observed, settings);
  // A load balancer with another name was never created for a Service: a tenant could choose any uid.
  if (!/^a[0-9a-f]{31}$/.test(context.name))
    return question.wanted
      ? reject(buildNameTakenIssue(context))
      : { kind: "settled", ingress: [], warnings: [] };
  return question.wanted ? ensureClassic(context, settings) : removeClassic(context);
}

function ensureClassic(context: ClassicContext, settings: Settings): LoadBalancerStep {
  const read = readClassic(context.question.service, settings);
  if (read.kind === "refused") return reject(read.issue);
  const { desired } = read;
  const { classic } = context.state;
  if (classic !== undefined && !isOwnClassicBalancer(context)) return reject(buildNameTakenIssue(context));
  if (isNameForeign(context.state, context.owner, context.configuration))
    return reject(buildNameTakenIssue(context));
  const subnets = planSubnets(context, desired);
  // Without subnets no load balancer can be created, so its security group is not created either.
  if (classic === undefined && subnets.kind === "refused") return reject(subnets.issue);
  const groups = planGroups(context, desired);
  if (groups.kind === "refused") return reject(groups.issue);
  if (groups.kind === "act") {
    const [first, ...more] = groups.actions;
    // AWS may reject rules of the group, so an existing load balancer follows the nodes first.
    const instances = chooseInstances(context, desired.annotations);
    const [target, ...targets] =
      classic === undefined || "code" in instances ? [] : planInstances(classic, instances);
    return {
      kind: "act",
      because: {
        code: "SecurityGroup",
        message: `the security group of ${context.name} is created or changed`,
      },
      actions: target === undefined ? groups.actions : [target, ...targets, first, ...more],
    };
  }
  const groupIds = groups.value;
  if (classic !== undefined) return changeClassic({ context, desired, groupIds, subnets }, classic);
  if (subnets.kind !== "ready") throw new Error("subnets are chosen without changing any");
  return {
    kind: "act",
    because: { code: "Creating", message: `the load balancer ${context.name} is created` },
    actions: [buildCreate(context, desired, groupIds, subnets.value)],
  };
}

function buildCreate(
  { name, owner }: ClassicContext,
  { annotations, listeners, scheme }: ClassicDesiredState,
  groupIds: readonly string[],
  subnets: readonly SubnetState[],
): LoadBalancerAction {
  const additionalTags = annotations["additional-resource-tags"] ?? {};
  return buildAction("elb:CreateLoadBalancer", name, {
    LoadBalancerName: name,
    Listeners: [...listeners],
    Subnets: subnets.map(getSubnetId),
    SecurityGroups: [...groupIds],
    ...(scheme === "internal" ? { Scheme: scheme } : {}),
    Tags: toTagList(buildServiceTags({ ...owner, additionalTags })),
  });
}

function planSubnets(
  { state, owner, allow, configuration }: ClassicContext,
  { annotations, scheme }: ClassicDesiredState,
): PlanResult<readonly SubnetState[]> {
  const desiredSubnets = {
    named: annotations.subnets,
    internal: scheme === "internal",
    clusterTag: owner.clusterTag,
    dualStack: false,
    fallbackId: configuration.subnetID,
    allow,
    isVpcConfigured: configuration.vpc !== undefined,
    attachedIds: state.classic?.loadBalancer.Subnets ?? [],
  };
  return chooseSubnets(desiredSubnets, state.vpc);
}

function reject(issue: Issue): LoadBalancerStep {
  return { kind: "refused", issue };
}

function buildNameTakenIssue({ name, owner }: ClassicContext): Issue {
  return {
    code: "NameTaken",
    detail: `the load balancer ${name} is not tagged kubernetes.io/cluster/${owner.clusterTag}: owned, or its name is not made of a Service's uid`,
  };
}
