import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer, TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import {
  CLASSIC_KIND,
  countClassicListeners,
  countNetworkListeners,
  NETWORK_KIND,
} from "#clouds/aws/load-balancers/measure.ts";
import { sharedGroupId, sharedGroupName } from "#clouds/aws/load-balancers/network/shared-group.ts";
import { allClassic, allNetwork } from "#clouds/aws/load-balancers/observe/all-load-balancers.ts";
import { gathered } from "#clouds/aws/load-balancers/observe/gathered.ts";
import { allTargetGroups } from "#clouds/aws/load-balancers/observe/network.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { Observing } from "#clouds/aws/load-balancers/observe/shared.ts";
import { classicTags, networkTags, type TagsOf } from "#clouds/aws/load-balancers/observe/tags.ts";
import { groupsOf } from "#clouds/aws/load-balancers/observe/vpc.ts";
import { uidInName } from "#clouds/aws/load-balancers/orphans/orphaned-service.ts";
import { isOwned, SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import { failureOf } from "#clouds/observation.ts";
import { ok } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { Holding, HoldingsState } from "#core/service/holdings.ts";

/**
 * All load balancers, target groups and security groups that carry the cluster's tag as its own and a Service's name, made by us or by
 * the stock controller. What cannot be listed to its end, or has tags that cannot be read, is an error: nothing is missed.
 */
export async function observeHoldings(
  { vpc, clusterTag, clusterName }: AwsCluster,
  read: Reader,
): Promise<Observation> {
  const tag = clusterTag ?? clusterName ?? "";
  const found = gathered<readonly (readonly Holding[])[]>(
    await Promise.all([
      networkHoldings(tag, read),
      classicHoldings(tag, read),
      groupHoldings(vpc, tag, read),
    ]),
  );
  if (found.kind === "fault") return failureOf(found.fault);
  const state: HoldingsState = { holdings: found.value.flat() };
  return { kind: "observed", state };
}

/**
 * The load balancers alone, for a count: those that are called as Services' are, with their listeners. What is called otherwise is not asked
 * for its tags, as an account may hold the load balancers of hundreds of clusters.
 */
export async function countBalancers(
  { cluster: { vpc, clusterTag, clusterName }, read, lists }: Observing,
  quotas: HoldingsState["quotas"],
): Promise<Observation> {
  const tag = clusterTag ?? clusterName ?? "";
  const isCandidate = (name: string, id: string | undefined): boolean =>
    uidInName(name) !== undefined && (vpc === undefined || id === vpc);
  const listed = gathered<
    [readonly LoadBalancer[], readonly LoadBalancerDescription[], readonly TargetGroup[]]
  >(
    await Promise.all([
      lists.recent.network(read),
      lists.recent.classic(read),
      lists.recent.targetGroups(read),
    ]),
  );
  if (listed.kind === "fault") return failureOf(listed.fault);
  const [network, classic, groups] = listed.value;
  const listenersByArn = countNetworkListeners(network, groups);
  const networks = network.flatMap(({ LoadBalancerArn: id = "", LoadBalancerName: name = "", VpcId }) =>
    isCandidate(name, VpcId)
      ? [{ kind: NETWORK_KIND, id, name, listeners: listenersByArn.get(id) ?? 0 }]
      : [],
  );
  const classics = classic.flatMap((each) => {
    const { LoadBalancerName: name = "", VPCId } = each;
    return isCandidate(name, VPCId)
      ? [{ kind: CLASSIC_KIND, id: name, name, listeners: countClassicListeners(each) }]
      : [];
  });
  const idsOf = (named: readonly Named[]): readonly string[] => named.map(({ id }) => id);
  const [networkTagged, classicTagged] = await Promise.all([
    networkTags(idsOf(networks), read),
    classicTags(idsOf(classics), read),
  ]);
  const found = gathered([ours(networks, networkTagged, tag), ours(classics, classicTagged, tag)]);
  if (found.kind === "fault") return failureOf(found.fault);
  const holdings = found.value.flat().map((each): Holding => {
    const uid = uidInName(each.name);
    return uid === undefined ? each : { ...each, uid };
  });
  const told = quotas === undefined ? {} : { quotas };
  return { kind: "observed", state: { holdings, ...told } satisfies HoldingsState };
}

interface Named {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly listeners?: number;
}

async function networkHoldings(tag: string, read: Reader): Promise<Outcome<readonly Holding[]>> {
  const balancers = await allNetwork(read);
  if (balancers.kind === "fault") return balancers;
  const groups = await allTargetGroups(read);
  if (groups.kind === "fault") return groups;
  const named: readonly Named[] = [
    ...balancers.value.map(({ LoadBalancerArn: id = "", LoadBalancerName: name = "" }) => ({
      ...{ kind: "network load balancer", id, name },
    })),
    ...groups.value.map(({ TargetGroupArn: id = "", TargetGroupName: name = "" }) => ({
      ...{ kind: "target group", id, name },
    })),
  ];
  return ours(
    named,
    await networkTags(
      named.map(({ id }) => id),
      read,
    ),
    tag,
  );
}

async function classicHoldings(tag: string, read: Reader): Promise<Outcome<readonly Holding[]>> {
  const balancers = await allClassic(read);
  if (balancers.kind === "fault") return balancers;
  const named = balancers.value.map(({ LoadBalancerName: id = "" }) => ({
    ...{ kind: "classic load balancer", id, name: id },
  }));
  return ours(
    named,
    await classicTags(
      named.map(({ id }) => id),
      read,
    ),
    tag,
  );
}

async function groupHoldings(
  vpc: string | undefined,
  tag: string,
  read: Reader,
): Promise<Outcome<readonly Holding[]>> {
  const groups = await groupsOf(vpc, tag, read);
  if (groups.kind === "fault") return groups;
  const named = groups.value.map(({ group: { GroupId: id = "", GroupName: name = "" } }) => ({
    ...{ kind: "security group", id, name },
  }));
  const found = ours(
    named,
    new Map(groups.value.map(({ group, tags }) => [group.GroupId ?? "", ok(tags)])),
    tag,
  );
  const shared = sharedGroupId(tag, groups.value);
  if (found.kind === "fault" || shared === undefined) return found;
  const holding = {
    kind: "security group of all network load balancers",
    id: shared,
    name: sharedGroupName(tag),
  };
  return ok([...found.value, holding]);
}

/** Those that are a Service's of the cluster; one that has gone between two calls is none. */
function ours(named: readonly Named[], tagsOf: TagsOf, tag: string): Outcome<readonly Holding[]> {
  const found: Holding[] = [];
  for (const each of named) {
    const tags = tagsOf.get(each.id);
    if (tags?.kind === "fault") return tags;
    const service = serviceOf(tags?.value, tag);
    if (service !== undefined) found.push({ ...each, service });
  }
  return ok(found);
}

function serviceOf(tags: Pairs | undefined, tag: string): string | undefined {
  return tags !== undefined && isOwned(tags, tag) ? tags[SERVICE_TAG] : undefined;
}
