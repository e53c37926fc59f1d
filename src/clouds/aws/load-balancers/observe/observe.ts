import type {
  LoadBalancerAttributes,
  LoadBalancerDescription,
  PolicyDescription,
} from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer, TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import { toJson } from "#clouds/aws/actions/api.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import {
  type ObserveOptions,
  readNetworkState,
  readTargetGroupState,
} from "#clouds/aws/load-balancers/observe/network.ts";
import { combineOutcomes, type Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import { parseServiceQuery, type ServiceQuery } from "#clouds/aws/load-balancers/observe/service-query.ts";
import {
  getTargetGroupArn,
  isAttached,
  listLoadBalancerArns,
  type ObserveContext,
  observeShared,
  type SharedState,
  selectCandidates,
} from "#clouds/aws/load-balancers/observe/shared-state.ts";
import { isNotFound } from "#clouds/aws/load-balancers/observe/tags.ts";
import { isOfCluster, SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type {
  AwsLoadBalancerState,
  ClassicLoadBalancerState,
  NetworkLoadBalancerState,
  Pairs,
  TargetGroupState,
  VpcState,
} from "#clouds/aws/load-balancers/state.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { fault, ok, toObservation } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";

/** Services whose details are read in parallel: each is completed before the quota is spent on the next. */
const AT_ONCE = 6;

/**
 * Time after which no further Service is read. If the quota makes each wait, completed observations are worth
 * more than late ones that leave no time to act.
 */
const MAX_OBSERVING_MS = 5_000;

/**
 * Observes the load balancers of Services. Shared facts are read once. A failed read is an error only for the
 * Services that need it.
 */
export async function observeLoadBalancers(
  questions: readonly unknown[],
  context: ObserveContext,
): Promise<Observation[]> {
  const startedMs = context.now();
  const queries = questions.map(parseServiceQuery);
  const validQueries = queries.filter((each) => each !== undefined);
  const shared = await observeShared(validQueries, context);
  const answers = new Map<ServiceQuery, Observation>();
  const queue = [...validQueries];
  const observeNext = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const isLate = context.now() - startedMs > MAX_OBSERVING_MS;
      answers.set(next, isLate ? LATE : toObservation(await readState(next, shared, context)));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, observeNext));
  return queries.map((each) => (each === undefined ? NAMELESS : (answers.get(each) ?? UNANSWERED)));
}

async function readState(
  query: ServiceQuery,
  shared: SharedState,
  { cluster, read }: ObserveContext,
): Promise<Outcome<AwsLoadBalancerState>> {
  const found = combineOutcomes<
    [LoadBalancer | undefined, LoadBalancerDescription | undefined, readonly TargetGroup[], VpcState]
  >([
    shared.networks.get(query.name) ?? ok(undefined),
    shared.classics.get(query.name) ?? ok(undefined),
    shared.targetGroups,
    query.wanted ? shared.vpc : shared.vpcForRemoval,
  ]);
  if (found.kind === "fault") return found;
  const [network, classic, , vpc] = found.value;
  const { allocationIds } = query;
  // Services that name no address do not depend on this read.
  const addresses: SharedState["addresses"] = allocationIds.length === 0 ? ok({}) : shared.addresses;
  if (addresses.kind === "fault") return addresses;
  const named = Object.entries(addresses.value).filter(([id]) => allocationIds.includes(id));
  const options = { read, depth: query.depth };
  const parts = combineOutcomes<
    [
      NetworkLoadBalancerState | undefined,
      ClassicLoadBalancerState | undefined,
      readonly (TargetGroupState | undefined)[],
    ]
  >(
    await Promise.all([
      readTagged(network, shared.networkTags.get(network?.LoadBalancerArn ?? ""), (each, tags) =>
        readNetworkState(each, tags, options),
      ),
      readTagged(classic, shared.classicTags.get(query.name), (each, tags) =>
        readClassicState(each, tags, options),
      ),
      readTargetGroups(query, shared, cluster, read),
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

/** Reads the details of a found resource if its tags show that it still exists. */
async function readTagged<Value, State>(
  value: Value | undefined,
  tags: Outcome<Readonly<Record<string, string>> | undefined> | undefined,
  readDetails: (value: Value, tags: Readonly<Record<string, string>>) => Promise<Outcome<State | undefined>>,
): Promise<Outcome<State | undefined>> {
  if (value === undefined || tags === undefined) return ok(undefined);
  if (tags.kind === "fault") return tags;
  return tags.value === undefined ? ok(undefined) : readDetails(value, tags.value);
}

/** Returns a Service's target groups: those that its load balancer uses, and those with its tags. */
async function readTargetGroups(
  query: ServiceQuery,
  shared: SharedState,
  cluster: AwsCluster,
  read: Reader,
): Promise<Outcome<readonly (TargetGroupState | undefined)[]>> {
  const states = selectCandidates([query], shared.networks, shared.targetGroups).map((group) =>
    readTagged(group, shared.networkTags.get(getTargetGroupArn(group)), async (each, tags) => {
      const belongsToService =
        isAttached(each, listLoadBalancerArns(shared.networks, query.name)) || isTagged(tags, query, cluster);
      return belongsToService
        ? readTargetGroupState(each, tags, { read, depth: query.depth })
        : ok(undefined);
    }),
  );
  return combineOutcomes<readonly (TargetGroupState | undefined)[]>(await Promise.all(states));
}

function isTagged(
  tags: Readonly<Record<string, string>>,
  { service }: ServiceQuery,
  { clusterTag, clusterName }: AwsCluster,
): boolean {
  return tags[SERVICE_TAG] === service && isOfCluster(tags, clusterTag ?? clusterName ?? "");
}

const NAMELESS: Observation = {
  kind: "error",
  code: "Invalid",
  message: "the Service's uid has characters that no load balancer's name may have",
};

const LATE: Observation = {
  kind: "error",
  code: "Throttled",
  message: "this batch's share of the account's quotas allows no more reads of load balancers now",
};

const UNANSWERED: Observation = { kind: "error", code: "Unavailable", message: "AWS: no answer" };

/** Reads the details of a classic load balancer; undefined if it was deleted meanwhile. */
async function readClassicState(
  loadBalancer: LoadBalancerDescription,
  tags: Pairs,
  { read, depth }: ObserveOptions,
): Promise<Outcome<ClassicLoadBalancerState | undefined>> {
  if (depth === "names") return ok({ loadBalancer: toJson(loadBalancer), tags, policies: [] });
  const name = loadBalancer.LoadBalancerName;
  const details = combineOutcomes<[LoadBalancerAttributes | undefined, readonly PolicyDescription[]]>(
    await Promise.all([
      depth === "targets" ? ok(undefined) : readAttributes(name, read),
      readPolicies(name, read),
    ]),
  );
  if (details.kind === "fault") return isNotFound(details.fault) ? ok(undefined) : details;
  const [attributes, policies] = details.value;
  const knownAttributes = attributes === undefined ? {} : { attributes };
  return ok({ loadBalancer: toJson(loadBalancer), tags, ...knownAttributes, policies });
}

async function readAttributes(
  name: string | undefined,
  read: Reader,
): Promise<Outcome<LoadBalancerAttributes>> {
  const answer = await read("elb:DescribeLoadBalancerAttributes", { LoadBalancerName: name });
  if (answer.kind === "fault") return answer;
  const { LoadBalancerAttributes: attributes } = answer.value;
  if (attributes === undefined)
    return fault("Unavailable", "elb:DescribeLoadBalancerAttributes: the answer has no attributes");
  return ok(toJson(attributes));
}

async function readPolicies(
  name: string | undefined,
  read: Reader,
): Promise<Outcome<readonly PolicyDescription[]>> {
  const answer = await read("elb:DescribeLoadBalancerPolicies", { LoadBalancerName: name });
  if (answer.kind === "fault") return answer;
  const { PolicyDescriptions: policies } = answer.value;
  if (policies === undefined)
    return fault("Unavailable", "elb:DescribeLoadBalancerPolicies: the answer is not a list");
  return ok(policies.map((policy) => toJson(policy)));
}
