import type { Outcome } from "#clouds/aws/errors.ts";
import {
  CLASSIC_KIND,
  countClassicListeners,
  countNetworkListeners,
  NETWORK_KIND,
} from "#clouds/aws/load-balancers/measure.ts";
import { allClassic, allNetwork } from "#clouds/aws/load-balancers/observe/all-load-balancers.ts";
import { gathered } from "#clouds/aws/load-balancers/observe/gathered.ts";
import { allTargetGroups } from "#clouds/aws/load-balancers/observe/network.ts";
import { observeLoadBalancers } from "#clouds/aws/load-balancers/observe/observe.ts";
import { identityOf, type Observing } from "#clouds/aws/load-balancers/observe/shared.ts";
import { classicTags, networkTags, type TagsOf } from "#clouds/aws/load-balancers/observe/tags.ts";
import { groupsOf } from "#clouds/aws/load-balancers/observe/vpc.ts";
import {
  orphanedService,
  uidInGroupName,
  uidInName,
} from "#clouds/aws/load-balancers/orphans/orphaned-service.ts";
import { readSharedRules, type SharedRulesState } from "#clouds/aws/load-balancers/orphans/shared-rules.ts";
import { ORPHANED_TAG } from "#clouds/aws/load-balancers/orphans/tag.ts";
import { isOfAnotherCluster, isOwned, SERVICE_TAG } from "#clouds/aws/load-balancers/ownership.ts";
import type { Pairs, SecurityGroupState } from "#clouds/aws/load-balancers/state.ts";
import type { Rule } from "#clouds/aws/load-balancers/vpc/rules.ts";
import { failureOf } from "#clouds/observation.ts";
import { ok } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { Holding, HoldingsState } from "#core/service/holdings.ts";
import { inTurn } from "#core/service/orphans/mark.ts";

/**
 * What of a cluster's load balancers could be orphaned: those in its VPC that are called as Services' are and carry the tags of cluster and
 * Service, and target groups and security groups of Services of which no load balancer is there. What is called otherwise is not asked
 * for its tags, as an account may hold the load balancers of hundreds of clusters.
 */
export async function observeOrphans(observing: Observing, at: string): Promise<Observation> {
  const listed = await listAll(observing);
  if (listed.kind === "fault") return failureOf(listed.fault);
  const { holdings, shared } = listed.value;
  const candidate = inTurn(holdings, Date.parse(at));
  if (candidate === undefined)
    return { kind: "observed", state: { holdings: [...holdings], shared } satisfies HoldingsState };
  const question = { service: orphanedService(candidate), wanted: false, nodes: [], orphaned: true };
  const [answer] = await observeLoadBalancers([question], observing);
  if (answer?.kind !== "observed") return answer ?? NOTHING_SAID;
  const removable = { id: candidate.id, state: answer.state };
  return { kind: "observed", state: { holdings: [...holdings], shared, removable } satisfies HoldingsState };
}

interface Listed {
  readonly holdings: readonly Holding[];
  readonly shared: SharedRulesState;
}

async function listAll({ cluster, read, nodeGroups }: Observing): Promise<Outcome<Listed>> {
  const { vpc } = cluster;
  const identity = identityOf(cluster);
  const tag = identity.clusterTag;
  const isThere = (id: string | undefined): boolean => vpc === undefined || id === vpc;
  const [network, classic, targetGroups, securityGroups] = await Promise.all([
    allNetwork(read),
    allClassic(read),
    allTargetGroups(read),
    groupsOf(vpc, tag, read),
  ]);
  for (const each of [network, classic, targetGroups, securityGroups]) if (each.kind === "fault") return each;
  const listenersByArn = countNetworkListeners(valuesOf(network), valuesOf(targetGroups));
  const inNetwork = valuesOf(network).flatMap((each): Found[] => {
    const { LoadBalancerArn: id = "", LoadBalancerName: name = "", VpcId } = each;
    const uid = uidInName(name);
    const listeners = listenersByArn.get(id) ?? 0;
    return uid === undefined || !isThere(VpcId) ? [] : [{ kind: NETWORK_KIND, id, name, uid, listeners }];
  });
  const inClassic = valuesOf(classic).flatMap((each): Found[] => {
    const { LoadBalancerName: name = "", VPCId } = each;
    const uid = uidInName(name);
    return uid === undefined || !isThere(VPCId)
      ? []
      : [{ kind: CLASSIC_KIND, id: name, name, uid, listeners: countClassicListeners(each) }];
  });
  const unused = valuesOf(targetGroups).flatMap((each): Found[] => {
    const { TargetGroupArn: id = "", TargetGroupName: name = "", LoadBalancerArns: users = [], VpcId } = each;
    const isUnused = users.length === 0 && name.startsWith(NAME_PREFIX) && isThere(VpcId);
    return isUnused ? [{ kind: "target group", id, name, isPart: true }] : [];
  });
  const [ofNetwork, ofClassic] = await Promise.all([
    networkTags(
      [...inNetwork, ...unused].map(({ id }) => id),
      read,
    ),
    classicTags(
      inClassic.map(({ id }) => id),
      read,
    ),
  ]);
  const groups = valuesOf(securityGroups).filter(({ group }) => group.GroupName?.startsWith(NAME_PREFIX));
  const all = gathered<readonly (readonly Holding[])[]>([
    ours([...inNetwork, ...unused], ofNetwork, tag),
    ours(inClassic, ofClassic, tag),
    ours(groups.map(foundGroup), tagsOfGroups(groups), tag),
  ]);
  if (all.kind === "fault") return all;
  const shared = readSharedRules({
    clusterTag: tag,
    groups: await nodeGroups.mark(valuesOf(securityGroups), { identity, ...ANY_RULE }, read),
    networks: valuesOf(network),
    classics: valuesOf(classic),
    targetGroups: valuesOf(targetGroups).filter(({ VpcId }) => isThere(VpcId)),
    ownClassics: new Set(all.value[1]?.map(({ id }) => id)),
    ofOthers: new Set([...ofNetwork].flatMap(([id, tags]) => (isAnothers(tags, tag) ? [id] : []))),
  });
  return ok({ holdings: withoutPartsInUse(all.value.flat()), shared });
}

function isAnothers(read: Outcome<Pairs | undefined>, clusterTag: string): boolean {
  return read.kind === "ok" && isOfAnotherCluster(read.value ?? {}, clusterTag);
}

/** An audit looks at the rules of all load balancers, whoever has made them. */
const ANY_RULE = {
  groupIds: new Set<string>(),
  isOurs: ({ description = "" }: Rule) => /^(kubernetes|serverless-ccm)\.io\/rule\//.test(description),
};

type Found = Omit<Holding, "service" | "mark">;

/** However Services' target groups and security groups are called. */
const NAME_PREFIX = "k8s-";

/** A fault has been returned by then. */
function valuesOf<Value>(outcome: Outcome<readonly Value[]>): readonly Value[] {
  return outcome.kind === "ok" ? outcome.value : [];
}

function foundGroup({ group: { GroupId: id = "", GroupName: name = "" } }: SecurityGroupState): Found {
  const uid = uidInGroupName(name);
  return { kind: "security group", id, name, isPart: true, ...(uid === undefined ? {} : { uid }) };
}

function tagsOfGroups(groups: readonly SecurityGroupState[]): TagsOf {
  return new Map(groups.map(({ group, tags }) => [group.GroupId ?? "", ok(tags)]));
}

/** Those that carry the cluster's tag as its own, and a Service's name; one that has gone between two calls is none. */
function ours(found: readonly Found[], tagsOf: TagsOf, clusterTag: string): Outcome<readonly Holding[]> {
  const holdings: Holding[] = [];
  for (const each of found) {
    const tags = tagsOf.get(each.id);
    if (tags?.kind === "fault") return tags;
    const { [SERVICE_TAG]: service, [ORPHANED_TAG]: mark } = tags?.value ?? {};
    if (service === undefined || !isOwned(tags?.value ?? {}, clusterTag)) continue;
    holdings.push({ ...each, service, ...(mark === undefined ? {} : { mark }) });
  }
  return ok(holdings);
}

/** What is left of a Service is told by its load balancer, as long as that is there, and goes with it. */
function withoutPartsInUse(holdings: readonly Holding[]): readonly Holding[] {
  const whole = new Set(holdings.flatMap(({ isPart, service }) => (isPart ? [] : service)));
  return holdings.filter(({ isPart, service }) => !isPart || !whole.has(service));
}

const NOTHING_SAID: Observation = { kind: "error", code: "Unavailable", message: "AWS: no answer" };
