import type { Outcome } from "#clouds/aws/errors.ts";
import {
  CLASSIC_KIND,
  countClassicListeners,
  countNetworkListeners,
  NETWORK_KIND,
} from "#clouds/aws/load-balancers/measure.ts";
import { listClassic, listNetwork } from "#clouds/aws/load-balancers/observe/all-load-balancers.ts";
import { listTargetGroups } from "#clouds/aws/load-balancers/observe/network.ts";
import { observeLoadBalancers } from "#clouds/aws/load-balancers/observe/observe.ts";
import { combineOutcomes } from "#clouds/aws/load-balancers/observe/reads.ts";
import { getClusterIdentity, type ObserveContext } from "#clouds/aws/load-balancers/observe/shared-state.ts";
import { readClassicTags, readNetworkTags, type TagsById } from "#clouds/aws/load-balancers/observe/tags.ts";
import { readSecurityGroups } from "#clouds/aws/load-balancers/observe/vpc.ts";
import {
  buildOrphanedService,
  ORPHANED_TAG,
  parseGroupUidPrefix,
  parseUidPrefix,
} from "#clouds/aws/load-balancers/orphans/orphaned-service.ts";
import { readSharedRules, type SharedRulesState } from "#clouds/aws/load-balancers/orphans/unused-rules.ts";
import { isOfAnotherCluster, isOwned, SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type { Pairs, SecurityGroupState } from "#clouds/aws/load-balancers/state.ts";
import type { Rule } from "#clouds/aws/load-balancers/vpc/rules.ts";
import { ok, toFailure } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { Holding, HoldingsState } from "#core/service/holdings.ts";
import { selectOldestMark } from "#core/service/orphans/mark.ts";

/**
 * Lists possible orphans of a cluster: load balancers in its VPC that are named like Services' ones and carry
 * the tags of cluster and Service. It adds target groups and security groups of Services without a load
 * balancer. Tags of others are not read, because an account may hold the load balancers of hundreds of
 * clusters.
 */
export async function observeOrphans(context: ObserveContext, auditTime: string): Promise<Observation> {
  const listed = await listAll(context);
  if (listed.kind === "fault") return toFailure(listed.fault);
  const { holdings, shared } = listed.value;
  const candidate = selectOldestMark(holdings, Date.parse(auditTime));
  if (candidate === undefined)
    return { kind: "observed", state: { holdings: [...holdings], shared } satisfies HoldingsState };
  const question = { service: buildOrphanedService(candidate), wanted: false, nodes: [], orphaned: true };
  const [answer] = await observeLoadBalancers([question], context);
  if (answer?.kind !== "observed") return answer ?? UNANSWERED;
  const removable = { id: candidate.id, state: answer.state };
  return { kind: "observed", state: { holdings: [...holdings], shared, removable } satisfies HoldingsState };
}

interface ListedResources {
  readonly holdings: readonly Holding[];
  readonly shared: SharedRulesState;
}

async function listAll({ cluster, read, nodeGroups }: ObserveContext): Promise<Outcome<ListedResources>> {
  const { vpc } = cluster;
  const identity = getClusterIdentity(cluster);
  const tag = identity.clusterTag;
  const isInVpc = (id: string | undefined): boolean => vpc === undefined || id === vpc;
  const [network, classic, targetGroups, securityGroups] = await Promise.all([
    listNetwork(read),
    listClassic(read),
    listTargetGroups(read),
    readSecurityGroups(vpc, tag, read),
  ]);
  for (const each of [network, classic, targetGroups, securityGroups]) if (each.kind === "fault") return each;
  const listenersByArn = countNetworkListeners(getValues(network), getValues(targetGroups));
  const networkBalancers = getValues(network).flatMap((each): FoundHolding[] => {
    const { LoadBalancerArn: id = "", LoadBalancerName: name = "", VpcId } = each;
    const uid = parseUidPrefix(name);
    const listeners = listenersByArn.get(id) ?? 0;
    return uid === undefined || !isInVpc(VpcId) ? [] : [{ kind: NETWORK_KIND, id, name, uid, listeners }];
  });
  const classicBalancers = getValues(classic).flatMap((each): FoundHolding[] => {
    const { LoadBalancerName: name = "", VPCId } = each;
    const uid = parseUidPrefix(name);
    return uid === undefined || !isInVpc(VPCId)
      ? []
      : [{ kind: CLASSIC_KIND, id: name, name, uid, listeners: countClassicListeners(each) }];
  });
  const unused = getValues(targetGroups).flatMap((each): FoundHolding[] => {
    const { TargetGroupArn: id = "", TargetGroupName: name = "", LoadBalancerArns: users = [], VpcId } = each;
    const isUnused = users.length === 0 && name.startsWith(NAME_PREFIX) && isInVpc(VpcId);
    return isUnused ? [{ kind: "target group", id, name, isPart: true }] : [];
  });
  const [networkTags, classicTags] = await Promise.all([
    readNetworkTags(
      [...networkBalancers, ...unused].map(({ id }) => id),
      read,
    ),
    readClassicTags(
      classicBalancers.map(({ id }) => id),
      read,
    ),
  ]);
  const groups = getValues(securityGroups).filter(({ group }) => group.GroupName?.startsWith(NAME_PREFIX));
  const all = combineOutcomes<readonly (readonly Holding[])[]>([
    selectOwned([...networkBalancers, ...unused], networkTags, tag),
    selectOwned(classicBalancers, classicTags, tag),
    selectOwned(groups.map(toHolding), getGroupTags(groups), tag),
  ]);
  if (all.kind === "fault") return all;
  const proven = await nodeGroups.prove(getValues(securityGroups), { identity, ...ANY_RULE }, read);
  if (proven.kind === "fault") return proven;
  const shared = readSharedRules({
    clusterTag: tag,
    groups: proven.value,
    networks: getValues(network),
    classics: getValues(classic),
    targetGroups: getValues(targetGroups).filter(({ VpcId }) => isInVpc(VpcId)),
    ownClassics: new Set(all.value[1]?.map(({ id }) => id)),
    foreignIds: new Set([...networkTags].flatMap(([id, tags]) => (hasForeignTags(tags, tag) ? [id] : []))),
  });
  return ok({ holdings: removePartsInUse(all.value.flat()), shared });
}

function hasForeignTags(read: Outcome<Pairs | undefined>, clusterTag: string): boolean {
  return read.kind === "ok" && isOfAnotherCluster(read.value ?? {}, clusterTag);
}

/** An audit reads the rules of all load balancers, whatever created them. */
const ANY_RULE = {
  groupIds: new Set<string>(),
  isOurs: ({ description = "" }: Rule) => /^(kubernetes|serverless-ccm)\.io\/rule\//.test(description),
};

type FoundHolding = Omit<Holding, "service" | "mark">;

/** Prefix of all names of Services' target groups and security groups. */
const NAME_PREFIX = "k8s-";

/** A fault was returned earlier. */
function getValues<Value>(outcome: Outcome<readonly Value[]>): readonly Value[] {
  return outcome.kind === "ok" ? outcome.value : [];
}

function toHolding({ group: { GroupId: id = "", GroupName: name = "" } }: SecurityGroupState): FoundHolding {
  const uid = parseGroupUidPrefix(name);
  return { kind: "security group", id, name, isPart: true, ...(uid === undefined ? {} : { uid }) };
}

function getGroupTags(groups: readonly SecurityGroupState[]): TagsById {
  return new Map(groups.map(({ group, tags }) => [group.GroupId ?? "", ok(tags)]));
}

/**
 * Selects resources that the cluster owns by tag and that name a Service; one deleted between two requests is
 * skipped.
 */
function selectOwned(
  found: readonly FoundHolding[],
  tagsById: TagsById,
  clusterTag: string,
): Outcome<readonly Holding[]> {
  const holdings: Holding[] = [];
  for (const each of found) {
    const tags = tagsById.get(each.id);
    if (tags?.kind === "fault") return tags;
    const { [SERVICE_TAG]: service, [ORPHANED_TAG]: mark } = tags?.value ?? {};
    if (service === undefined || !isOwned(tags?.value ?? {}, clusterTag)) continue;
    holdings.push({ ...each, service, ...(mark === undefined ? {} : { mark }) });
  }
  return ok(holdings);
}

/** Removes parts of an existing load balancer from the list: they are reported and removed with it. */
function removePartsInUse(holdings: readonly Holding[]): readonly Holding[] {
  const whole = new Set(holdings.flatMap(({ isPart, service }) => (isPart ? [] : service)));
  return holdings.filter(({ isPart, service }) => !isPart || !whole.has(service));
}

const UNANSWERED: Observation = { kind: "error", code: "Unavailable", message: "AWS: no answer" };
