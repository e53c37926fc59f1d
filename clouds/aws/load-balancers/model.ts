import { beforeAsking } from "#clouds/aws/load-balancers/before.ts";
import { desiredOf } from "#clouds/aws/load-balancers/desired.ts";
import { foldNetwork } from "#clouds/aws/load-balancers/network/fold.ts";
import { planNetwork } from "#clouds/aws/load-balancers/network/plan.ts";
import type { VpcParts } from "#clouds/aws/load-balancers/parts.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { targetOf } from "#clouds/aws/load-balancers/target-of.ts";
import { chooseSubnets } from "#clouds/aws/load-balancers/vpc/choose-subnets.ts";
import { foldVpc } from "#clouds/aws/load-balancers/vpc/fold.ts";
import { planFrontGroup } from "#clouds/aws/load-balancers/vpc/front-group.ts";
import { planNodeRules } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import { planRemovedGroups } from "#clouds/aws/load-balancers/vpc/remove-groups.ts";
import { whoseOf } from "#clouds/aws/load-balancers/whose.ts";
import type { LoadBalancerModel } from "#core/service/model.ts";

/** What load balancers are on AWS: network load balancers and classic ones, as the stock controller makes them. */
export const awsLoadBalancerModel: LoadBalancerModel = {
  before: beforeAsking,
  next(question, observed, settings) {
    // The observation is our own capability's, which has parsed what AWS answered.
    const whose = whoseOf(question.service, observed as AwsLoadBalancerState, settings, VPC_PARTS);
    // Nothing of such a name can be there.
    if (whose === undefined) return { kind: "settled", ingress: [], warnings: [] };
    return planNetwork(question, whose);
  },
  fold(observed, action, result) {
    const state = observed as AwsLoadBalancerState;
    const [service] = action.action.split(":");
    if (service === "ec2") return { ...state, vpc: foldVpc(state.vpc, action, result) };
    return foldNetwork(state, action, result);
  },
  desired: desiredOf,
  targetOf,
};

const VPC_PARTS: VpcParts = { chooseSubnets, planFrontGroup, planNodeRules, planRemovedGroups, foldVpc };
