import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer, TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { classicStateOf } from "#clouds/aws/load-balancers/observe/classic.ts";
import { gathered } from "#clouds/aws/load-balancers/observe/gathered.ts";
import { networkStateOf, targetGroupStateOf } from "#clouds/aws/load-balancers/observe/network.ts";
import { type Sought, soughtBy } from "#clouds/aws/load-balancers/observe/question.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import {
  arnOf,
  arnsOf,
  candidatesOf,
  isAttached,
  lookAtShared,
  type Observing,
  type Shared,
} from "#clouds/aws/load-balancers/observe/shared.ts";
import { isOfCluster, SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type {
  AwsLoadBalancerState,
  ClassicLoadBalancerState,
  NetworkLoadBalancerState,
  TargetGroupState,
  VpcState,
} from "#clouds/aws/load-balancers/state.ts";
import { observationOf } from "#clouds/observation.ts";
import { ok } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";

/** Services whose own details are looked at side by side: each is brought to its end before the quota is spent on the next. */
const AT_ONCE = 6;

/**
 * So long after its beginning no further Service is looked at: where the quota makes each wait, those that were seen are worth more
 * than those that would be seen when there is no time left to do anything.
 */
const MAX_OBSERVING_MS = 5_000;

/**
 * What there is of the load balancers of some Services. What they have in common is asked for once; what cannot be found out is an
 * error of the Services that it concerns, and of no others.
 */
export async function observeLoadBalancers(
  questions: readonly unknown[],
  observing: Observing,
): Promise<Observation[]> {
  const startedMs = observing.now();
  const asked = questions.map(soughtBy);
  const sought = asked.filter((each) => each !== undefined);
  const shared = await lookAtShared(sought, observing);
  const answers = new Map<Sought, Observation>();
  const waiting = [...sought];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const isLate = observing.now() - startedMs > MAX_OBSERVING_MS;
      answers.set(next, isLate ? LATE : observationOf(await stateOf(next, shared, observing)));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return asked.map((each) => (each === undefined ? NAMELESS : (answers.get(each) ?? UNANSWERED)));
}

async function stateOf(
  sought: Sought,
  shared: Shared,
  { cluster, read }: Observing,
): Promise<Outcome<AwsLoadBalancerState>> {
  const found = gathered<
    [LoadBalancer | undefined, LoadBalancerDescription | undefined, readonly TargetGroup[], VpcState]
  >([
    shared.networks.get(sought.name) ?? ok(undefined),
    shared.classics.get(sought.name) ?? ok(undefined),
    shared.targetGroups,
    sought.wanted ? shared.vpc : shared.vpcOfLeaving,
  ]);
  if (found.kind === "fault") return found;
  const [network, classic, , vpc] = found.value;
  const { allocationIds } = sought;
  // Whoever names none does not depend on whether they can be seen.
  const addresses: Shared["addresses"] = allocationIds.length === 0 ? ok({}) : shared.addresses;
  if (addresses.kind === "fault") return addresses;
  const named = Object.entries(addresses.value).filter(([id]) => allocationIds.includes(id));
  const look = { read, depth: sought.depth };
  const parts = gathered<
    [
      NetworkLoadBalancerState | undefined,
      ClassicLoadBalancerState | undefined,
      readonly (TargetGroupState | undefined)[],
    ]
  >(
    await Promise.all([
      withTags(network, shared.networkTags.get(network?.LoadBalancerArn ?? ""), (each, tags) =>
        networkStateOf(each, tags, look),
      ),
      withTags(classic, shared.classicTags.get(sought.name), (each, tags) =>
        classicStateOf(each, tags, look),
      ),
      targetGroupsOf(sought, shared, cluster, read),
    ]),
  );
  if (parts.kind === "fault") return parts;
  const [networkState, classicState, targetGroups] = parts.value;
  return ok({
    ...(networkState === undefined ? {} : { network: networkState }),
    ...(classicState === undefined ? {} : { classic: classicState }),
    targetGroups: targetGroups.filter((each) => each !== undefined),
    vpc,
    ...(allocationIds.length === 0 ? {} : { addresses: Object.fromEntries(named) }),
  });
}

/** What there is of something that was found, where its tags tell that it is still there. */
async function withTags<Value, State>(
  value: Value | undefined,
  tags: Outcome<Readonly<Record<string, string>> | undefined> | undefined,
  look: (value: Value, tags: Readonly<Record<string, string>>) => Promise<Outcome<State | undefined>>,
): Promise<Outcome<State | undefined>> {
  if (value === undefined || tags === undefined) return ok(undefined);
  if (tags.kind === "fault") return tags;
  return tags.value === undefined ? ok(undefined) : look(value, tags.value);
}

/** The target groups of a Service: those that its load balancer uses, and those that carry its tags. */
async function targetGroupsOf(
  sought: Sought,
  shared: Shared,
  cluster: AwsCluster,
  read: Reader,
): Promise<Outcome<readonly (TargetGroupState | undefined)[]>> {
  const states = candidatesOf([sought], shared.networks, shared.targetGroups).map((group) =>
    withTags(group, shared.networkTags.get(arnOf(group)), async (each, tags) => {
      const isIts = isAttached(each, arnsOf(shared.networks, sought.name)) || isTagged(tags, sought, cluster);
      return isIts ? targetGroupStateOf(each, tags, { read, depth: sought.depth }) : ok(undefined);
    }),
  );
  return gathered<readonly (TargetGroupState | undefined)[]>(await Promise.all(states));
}

function isTagged(
  tags: Readonly<Record<string, string>>,
  { service }: Sought,
  { clusterTag, clusterName }: AwsCluster,
): boolean {
  return tags[SERVICE_TAG] === service && isOfCluster(tags, clusterTag ?? clusterName ?? "");
}

const NAMELESS: Observation = {
  kind: "error",
  code: "Invalid",
  message: "the Service's uid holds something that no load balancer's name may hold",
};

const LATE: Observation = {
  kind: "error",
  code: "Throttled",
  message: "this batch's share of the account's quotas lets no more load balancers be looked at now",
};

const UNANSWERED: Observation = { kind: "error", code: "Unavailable", message: "AWS: no answer" };
