import type { LoadBalancerKind } from "#clouds/aws/load-balancers/annotations/table.ts";
import { beforeAsking } from "#clouds/aws/load-balancers/before.ts";
import { contextOf } from "#clouds/aws/load-balancers/classic/context.ts";
import { foldClassic } from "#clouds/aws/load-balancers/classic/fold.ts";
import { planClassic } from "#clouds/aws/load-balancers/classic/plan.ts";
import { isOurs } from "#clouds/aws/load-balancers/classic/remove.ts";
import { configurationOf } from "#clouds/aws/load-balancers/configuration.ts";
import { desiredOf } from "#clouds/aws/load-balancers/desired.ts";
import { followNodesOnAws } from "#clouds/aws/load-balancers/follow-nodes.ts";
import { kindOf, TYPE } from "#clouds/aws/load-balancers/kind.ts";
import { measureBalancer } from "#clouds/aws/load-balancers/measure.ts";
import { foldNetwork } from "#clouds/aws/load-balancers/network/fold.ts";
import { isOwnBalancer } from "#clouds/aws/load-balancers/network/own-balancer.ts";
import { planNetwork } from "#clouds/aws/load-balancers/network/plan.ts";
import { createOrphanModel } from "#clouds/aws/load-balancers/orphans/model.ts";
import { problemOf } from "#clouds/aws/load-balancers/problem-of.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { lostTargets, targetOfService } from "#clouds/aws/load-balancers/target-of.ts";
import { undoesRefused } from "#clouds/aws/load-balancers/undoes-refused.ts";
import { foldVpc } from "#clouds/aws/load-balancers/vpc/fold.ts";
import { whoseOf } from "#clouds/aws/load-balancers/whose.ts";
import type { LoadBalancerModel, LoadBalancerQuestion, LoadBalancerStep } from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";

/** What load balancers are on AWS: network load balancers and classic ones, as the stock controller makes them. */
export const awsLoadBalancerModel: LoadBalancerModel = {
  before: beforeAsking,
  next(question, observed, settings) {
    // The observation is our own capability's, which has parsed what AWS answered.
    const asked = { question, state: observed as AwsLoadBalancerState, settings };
    if (!question.wanted) return removal(asked);
    const kind = kindOf(question.service);
    return kind === "elsewhere" ? { kind } : ensure(kind, asked);
  },
  followNodes: followNodesOnAws,
  lostTargets: (question, observed) => lostTargets(question, observed as AwsLoadBalancerState),
  shows(question, observed, settings) {
    const kind = kindOf(question.service);
    const asked = { question, state: observed as AwsLoadBalancerState, settings };
    return kind === "elsewhere" || isOwn(kind, asked);
  },
  measure: ({ service }, observed) => measureBalancer(service, observed as AwsLoadBalancerState),
  fold(observed, action, result) {
    const state = observed as AwsLoadBalancerState;
    switch (action.action.split(":")[0]) {
      case "ec2":
        return { ...state, vpc: foldVpc(state.vpc, action, result) };
      case "elb":
        return { ...state, classic: foldClassic(state.classic, action, result) };
      default:
        return foldNetwork(state, action, result);
    }
  },
  // Of the VPC all Services of a batch have one state.
  isShared: ({ action }) => action.startsWith("ec2:"),
  problemOf,
  orphans: createOrphanModel((question, state, settings) => removal({ question, state, settings })),
  undoes: undoesRefused,
  desired: desiredOf,
  targetOf: targetOfService,
};

interface Asked {
  readonly question: LoadBalancerQuestion;
  readonly state: AwsLoadBalancerState;
  readonly settings: Settings;
}

const OTHER = { network: "classic", classic: "network" } as const satisfies Record<
  LoadBalancerKind,
  LoadBalancerKind
>;

/**
 * The load balancer of the wanted kind. One of the other kind is told by the API that shows it, and goes only where the operator has
 * said so: after the new one is there and the status names it, so that clients have time to find that; and what a removal that was cut
 * short has left goes, too.
 */
function ensure(kind: LoadBalancerKind, asked: Asked): LoadBalancerStep {
  const other = OTHER[kind];
  const isThere = isOwn(other, asked);
  const { replaceOnTypeChange } = configurationOf(asked.settings);
  if (isThere && replaceOnTypeChange !== true && !isPublished(kind, asked))
    return { kind: "refused", problem: typeChanged(kind, asked) };
  const step = plan(kind, asked);
  if (step.kind !== "settled" || (isThere && !isPublished(kind, asked))) return step;
  const rest = plan(other, { ...asked, question: { ...asked.question, wanted: false } });
  return rest.kind === "settled" ? step : rest;
}

/** All that there is of both kinds. */
function removal(asked: Asked): LoadBalancerStep {
  const network = plan("network", asked);
  if (network.kind === "act") return network;
  const classic = plan("classic", asked);
  return classic.kind === "act" || network.kind === "settled" ? classic : network;
}

function plan(kind: LoadBalancerKind, { question, state, settings }: Asked): LoadBalancerStep {
  if (kind === "classic") return planClassic(question, state, settings);
  const whose = whoseOf(question.service, state, settings);
  // Nothing of such a name can be there.
  return whose === undefined ? NOTHING_LEFT : planNetwork(question, whose);
}

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };

function isOwn(kind: LoadBalancerKind, { question, state, settings }: Asked): boolean {
  if (kind === "classic") return isOurs(contextOf(question, state, settings));
  const whose = whoseOf(question.service, state, settings);
  return whose !== undefined && isOwnBalancer(whose);
}

/** Whether the status names the load balancer of a kind, as AWS calls it by now. */
function isPublished(kind: LoadBalancerKind, { question, state }: Asked): boolean {
  const { DNSName } = (kind === "network" ? state.network : state.classic)?.loadBalancer ?? {};
  const ingress = question.service.status?.loadBalancer?.ingress ?? [];
  return DNSName !== undefined && ingress.some(({ hostname }) => hostname === DNSName);
}

function typeChanged(kind: LoadBalancerKind, { question }: Asked) {
  const { metadata, spec } = question.service;
  const isClass = spec.loadBalancerClass !== undefined;
  return {
    code: "TypeChanged",
    field: isClass ? "spec.loadBalancerClass" : TYPE,
    value: isClass ? spec.loadBalancerClass : metadata.annotations?.[TYPE],
    allowed: `what it was when the load balancer was made, which is a ${OTHER[kind]} one`,
    detail: "cloud.replaceOnTypeChange lets it be replaced",
  };
}
