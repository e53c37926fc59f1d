import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { changeClassic } from "#clouds/aws/load-balancers/classic/change.ts";
import { type ClassicContext, contextOf } from "#clouds/aws/load-balancers/classic/context.ts";
import { planGroups } from "#clouds/aws/load-balancers/classic/groups.ts";
import { isOurs, removeClassic } from "#clouds/aws/load-balancers/classic/remove.ts";
import { idOf } from "#clouds/aws/load-balancers/classic/subnets.ts";
import { type ClassicWanted, readClassic } from "#clouds/aws/load-balancers/classic/wanted.ts";
import { isNameForeign } from "#clouds/aws/load-balancers/ownership.ts";
import type { Piece } from "#clouds/aws/load-balancers/pieces.ts";
import type { AwsLoadBalancerState, SubnetState } from "#clouds/aws/load-balancers/state.ts";
import { tagList, wantedTags } from "#clouds/aws/load-balancers/tags.ts";
import { chooseSubnets } from "#clouds/aws/load-balancers/vpc/choose-subnets.ts";
import type {
  LoadBalancerAction,
  LoadBalancerQuestion,
  LoadBalancerStep,
  Problem,
} from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";

/** Why a Service cannot have a classic load balancer, as far as that can be said without asking AWS. */
export function refusalOfClassic(question: LoadBalancerQuestion, settings: Settings): Problem | undefined {
  const read = readClassic(question.service, settings);
  return read.kind === "refused" ? read.problem : undefined;
}

/** What is next for a Service's classic load balancer to be as it is wanted, or to be gone. */
export function planClassic(
  question: LoadBalancerQuestion,
  observed: AwsLoadBalancerState,
  settings: Settings,
): LoadBalancerStep {
  const context = contextOf(question, observed, settings);
  // What has another name was never made for a Service: a tenant could call anything so.
  if (!/^a[0-9a-f]{31}$/.test(context.name))
    return question.wanted ? refused(nameTaken(context)) : { kind: "settled", ingress: [], warnings: [] };
  return question.wanted ? ensureClassic(context, settings) : removeClassic(context);
}

function ensureClassic(context: ClassicContext, settings: Settings): LoadBalancerStep {
  const read = readClassic(context.question.service, settings);
  if (read.kind === "refused") return refused(read.problem);
  const { wanted } = read;
  const { classic } = context.state;
  if (classic !== undefined && !isOurs(context)) return refused(nameTaken(context));
  if (isNameForeign(context.state, context.owner, context.configuration)) return refused(nameTaken(context));
  const subnets = subnetsOf(context, wanted);
  // Without them none can be made, so that its security group is not made either.
  if (classic === undefined && subnets.kind === "refused") return refused(subnets.problem);
  const groups = planGroups(context, wanted);
  if (groups.kind === "refused") return refused(groups.problem);
  if (groups.kind === "act")
    return {
      kind: "act",
      because: { code: "SecurityGroup", message: `the security group of ${context.name} is made or changed` },
      actions: groups.actions,
    };
  const groupIds = groups.value;
  if (classic !== undefined) return changeClassic({ context, wanted, groupIds, subnets }, classic);
  if (subnets.kind !== "ready") throw new Error("subnets are chosen without changing any");
  return {
    kind: "act",
    because: { code: "Creating", message: `${context.name} is made` },
    actions: [creation(context, wanted, groupIds, subnets.value)],
  };
}

function creation(
  { name, owner }: ClassicContext,
  { annotations, listeners, scheme }: ClassicWanted,
  groupIds: readonly string[],
  subnets: readonly SubnetState[],
): LoadBalancerAction {
  const additionalTags = annotations["additional-resource-tags"] ?? {};
  return awsAction("elb:CreateLoadBalancer", name, {
    LoadBalancerName: name,
    Listeners: [...listeners],
    Subnets: subnets.map(idOf),
    SecurityGroups: [...groupIds],
    ...(scheme === "internal" ? { Scheme: scheme } : {}),
    Tags: tagList(wantedTags({ ...owner, additionalTags })),
  });
}

function subnetsOf(
  { state, owner, allow, configuration }: ClassicContext,
  { annotations, scheme }: ClassicWanted,
): Piece<readonly SubnetState[]> {
  const wanted = {
    named: annotations.subnets,
    internal: scheme === "internal",
    clusterTag: owner.clusterTag,
    dualStack: false,
    fallbackId: configuration.subnetID,
    allow,
    isVpcConfigured: configuration.vpc !== undefined,
    attachedIds: state.classic?.loadBalancer.Subnets ?? [],
  };
  return chooseSubnets(wanted, state.vpc);
}

function refused(problem: Problem): LoadBalancerStep {
  return { kind: "refused", problem };
}

function nameTaken({ name, owner }: ClassicContext): Problem {
  return {
    code: "NameTaken",
    detail: `the load balancer ${name} is not tagged kubernetes.io/cluster/${owner.clusterTag}: owned, or its name is not made of a Service's uid`,
  };
}
