import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer, TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { Outcome } from "#clouds/aws/errors.ts";
import {
  CLASSIC_KIND,
  countClassicListeners,
  countNetworkListeners,
  NETWORK_KIND,
} from "#clouds/aws/load-balancers/measure.ts";
import { findSharedGroupId, formatSharedGroupName } from "#clouds/aws/load-balancers/network/shared-group.ts";
import { listClassic, listNetwork } from "#clouds/aws/load-balancers/observe/all-load-balancers.ts";
import { listTargetGroups } from "#clouds/aws/load-balancers/observe/network.ts";
import { combineOutcomes, type Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { ObserveContext } from "#clouds/aws/load-balancers/observe/shared-state.ts";
import { readClassicTags, readNetworkTags, type TagsById } from "#clouds/aws/load-balancers/observe/tags.ts";
import { readSecurityGroups } from "#clouds/aws/load-balancers/observe/vpc.ts";
import { parseUidPrefix } from "#clouds/aws/load-balancers/orphans/orphaned-service.ts";
import { isOwned, SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { ok, toFailure } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { Holding, HoldingsState } from "#core/service/holdings.ts";

/**
 * Lists the load balancers, target groups and security groups that have the cluster's tag and name a Service. Either
 * serverless-ccm or the stock controller created them. An incomplete listing or unreadable tags are an error,
 * so that nothing is missed.
 */
export async function observeHoldings(
  { vpc, clusterTag, clusterName }: AwsCluster,
  read: Reader,
): Promise<Observation> {
  const tag = clusterTag ?? clusterName ?? "";
  const found = combineOutcomes<readonly (readonly Holding[])[]>(
    await Promise.all([
      listNetworkHoldings(tag, read),
      listClassicHoldings(tag, read),
      listGroupHoldings(vpc, tag, read),
    ]),
  );
  if (found.kind === "fault") return toFailure(found.fault);
  const state: HoldingsState = { holdings: found.value.flat() };
  return { kind: "observed", state };
}

/**
 * Lists for a count only load balancers that are named like Services' ones, with their listeners. Tags of
 * others are not read, because an account may hold the load balancers of hundreds of clusters.
 */
export async function countBalancers(
  { cluster: { vpc, clusterTag, clusterName }, read, lists }: ObserveContext,
  quotas: HoldingsState["quotas"],
): Promise<Observation> {
  const tag = clusterTag ?? clusterName ?? "";
  const isCandidate = (name: string, id: string | undefined): boolean =>
    parseUidPrefix(name) !== undefined && (vpc === undefined || id === vpc);
  const listed = combineOutcomes<
    [readonly LoadBalancer[], readonly LoadBalancerDescription[], readonly TargetGroup[]]
  >(
    await Promise.all([
      lists.recent.listNetwork(read),
      lists.recent.listClassic(read),
      lists.recent.listTargetGroups(read),
    ]),
  );
  if (listed.kind === "fault") return toFailure(listed.fault);
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
  const listIds = (named: readonly NamedResource[]): readonly string[] => named.map(({ id }) => id);
  const [networkTagged, classicTagged] = await Promise.all([
    readNetworkTags(listIds(networks), read),
    readClassicTags(listIds(classics), read),
  ]);
  const found = combineOutcomes([
    selectOwned(networks, networkTagged, tag),
    selectOwned(classics, classicTagged, tag),
  ]);
  if (found.kind === "fault") return toFailure(found.fault);
  const holdings = found.value.flat().map((each): Holding => {
    const uid = parseUidPrefix(each.name);
    return uid === undefined ? each : { ...each, uid };
  });
  const quotaPart = quotas === undefined ? {} : { quotas };
  return { kind: "observed", state: { holdings, ...quotaPart } satisfies HoldingsState };
}

interface NamedResource {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly listeners?: number;
}

async function listNetworkHoldings(tag: string, read: Reader): Promise<Outcome<readonly Holding[]>> {
  const balancers = await listNetwork(read);
  if (balancers.kind === "fault") return balancers;
  const groups = await listTargetGroups(read);
  if (groups.kind === "fault") return groups;
  const named: readonly NamedResource[] = [
    ...balancers.value.map(({ LoadBalancerArn: id = "", LoadBalancerName: name = "" }) => ({
      ...{ kind: "network load balancer", id, name },
    })),
    ...groups.value.map(({ TargetGroupArn: id = "", TargetGroupName: name = "" }) => ({
      ...{ kind: "target group", id, name },
    })),
  ];
  return selectOwned(
    named,
    await readNetworkTags(
      named.map(({ id }) => id),
      read,
    ),
    tag,
  );
}

async function listClassicHoldings(tag: string, read: Reader): Promise<Outcome<readonly Holding[]>> {
  const balancers = await listClassic(read);
  if (balancers.kind === "fault") return balancers;
  const named = balancers.value.map(({ LoadBalancerName: id = "" }) => ({
    ...{ kind: "classic load balancer", id, name: id },
  }));
  return selectOwned(
    named,
    await readClassicTags(
      named.map(({ id }) => id),
      read,
    ),
    tag,
  );
}

async function listGroupHoldings(
  vpc: string | undefined,
  tag: string,
  read: Reader,
): Promise<Outcome<readonly Holding[]>> {
  const groups = await readSecurityGroups(vpc, tag, read);
  if (groups.kind === "fault") return groups;
  const named = groups.value.map(({ group: { GroupId: id = "", GroupName: name = "" } }) => ({
    ...{ kind: "security group", id, name },
  }));
  const found = selectOwned(
    named,
    new Map(groups.value.map(({ group, tags }) => [group.GroupId ?? "", ok(tags)])),
    tag,
  );
  const shared = findSharedGroupId(tag, groups.value);
  if (found.kind === "fault" || shared === undefined) return found;
  const holding = {
    kind: "security group of all network load balancers",
    id: shared,
    name: formatSharedGroupName(tag),
  };
  return ok([...found.value, holding]);
}

/** Selects resources of the cluster's Services; one deleted between two requests is skipped. */
function selectOwned(
  named: readonly NamedResource[],
  tagsById: TagsById,
  tag: string,
): Outcome<readonly Holding[]> {
  const found: Holding[] = [];
  for (const each of named) {
    const tags = tagsById.get(each.id);
    if (tags?.kind === "fault") return tags;
    const service = getOwnedService(tags?.value, tag);
    if (service !== undefined) found.push({ ...each, service });
  }
  return ok(found);
}

function getOwnedService(tags: Pairs | undefined, tag: string): string | undefined {
  return tags !== undefined && isOwned(tags, tag) ? tags[SERVICE_TAG] : undefined;
}
