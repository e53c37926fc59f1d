import type { Instance, NetworkInterface } from "@aws-sdk/client-ec2";
import type { Outcome } from "#clouds/aws/errors.ts";
import { describeByIds } from "#clouds/aws/load-balancers/observe/instances.ts";
import { allPages, type Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import {
  type ClusterIdentity,
  hasClusterTag,
  isNodeSecurityGroup,
  isOfCluster,
  isOwned,
} from "#clouds/aws/load-balancers/ownership.ts";
import type { SecurityGroupState } from "#clouds/aws/load-balancers/state.ts";
import { type Rule, rulesOf } from "#clouds/aws/load-balancers/vpc/rules.ts";
import { pairsOf } from "#clouds/aws/load-balancers/vpc/tags.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** What decides for which security groups it matters whether they are on the cluster's instances alone. */
export interface AskedGroups {
  readonly identity: ClusterIdentity;
  /** Of the targets. */
  readonly groupIds: ReadonlySet<string>;
  /** Whether a rule may be one of ours; what lets in a group that was made for the cluster always may. */
  readonly isOurs: (rule: Rule) => boolean;
}

/** Tells which security groups without the cluster's tag are on the cluster's instances alone. */
export interface NodeGroupProofs {
  /**
   * Returns the groups, with `isOnNodesAlone` where AWS shows it. AWS is asked about groups that matter and that nothing else proves, at
   * most about `MAX_GROUPS`; an error, or an answer without an end, proves nothing.
   */
  mark(
    groups: readonly SecurityGroupState[],
    asked: AskedGroups,
    read: Reader,
  ): Promise<readonly SecurityGroupState[]>;
}

/** Nothing is known yet. `now` is milliseconds of a clock that never goes back. */
export function createNodeGroupProofs(now: () => number): NodeGroupProofs {
  const known = new Map<string, { readonly isProven: boolean; readonly untilMs: number }>();
  const isFresh = (id: string): boolean => (known.get(id)?.untilMs ?? Number.NEGATIVE_INFINITY) > now();
  return {
    async mark(groups, asked, read) {
      const ids = candidates(groups, asked).slice(0, MAX_GROUPS);
      const unknown = ids.filter((id) => !isFresh(id));
      const answer = unknown.length === 0 ? ok(new Set<string>()) : await ask(unknown, asked.identity, read);
      if (answer.kind === "ok") {
        if (known.size + unknown.length > MAX_KNOWN) known.clear();
        for (const id of unknown) {
          const isProven = answer.value.has(id);
          known.set(id, { isProven, untilMs: now() + (isProven ? PROVEN_MS : UNPROVEN_MS) });
        }
      }
      const proven = new Set(ids.filter((id) => isFresh(id) && known.get(id)?.isProven === true));
      return groups.map((each) =>
        proven.has(each.group.GroupId ?? "") ? { ...each, isOnNodesAlone: true } : each,
      );
    },
  };
}

/** AWS is asked about so many groups at once. */
const MAX_GROUPS = 50;
/** More instances than these are not looked at: their group needs the tag. */
const MAX_INSTANCES = 2_000;
/** So long an answer is believed. */
const PROVEN_MS = 60_000;
const UNPROVEN_MS = 10_000;
const MAX_KNOWN = 1_000;

/** Groups of targets first. */
function candidates(
  groups: readonly SecurityGroupState[],
  { identity, groupIds, isOurs }: AskedGroups,
): readonly string[] {
  const made = new Set(
    groups.flatMap(({ group, tags }) => (isOwned(tags, identity.clusterTag) ? (group.GroupId ?? []) : [])),
  );
  const matters = (rule: Rule): boolean => (rule.from === "group" && made.has(rule.peer)) || isOurs(rule);
  const open = groups.flatMap(({ group: { GroupId: id = "" }, tags, ingress }) => {
    if (hasClusterTag(tags) || isNodeSecurityGroup({ id, tags }, identity)) return [];
    return groupIds.has(id) || rulesOf(ingress).some(matters) ? [id] : [];
  });
  return open.toSorted((one, other) => Number(groupIds.has(other)) - Number(groupIds.has(one)));
}

/** Those of the groups of which every network interface belongs to an instance with the cluster's tag, of one interface at least. */
async function ask(
  ids: readonly string[],
  { clusterTag }: ClusterIdentity,
  read: Reader,
): Promise<Outcome<ReadonlySet<string>>> {
  const interfaces = await allPages("DescribeNetworkInterfaces", async (next) => {
    const answer = await read("ec2:DescribeNetworkInterfaces", {
      Filters: [{ Name: "group-id", Values: [...ids] }],
      MaxResults: 1000,
      ...(next === undefined ? {} : { NextToken: next }),
    });
    if (answer.kind === "fault") return answer;
    return ok({ values: answer.value.NetworkInterfaces, next: answer.value.NextToken });
  });
  if (interfaces.kind === "fault") return interfaces;
  const instanceIds = [...new Set(interfaces.value.flatMap((each) => instanceOf(each) ?? []))];
  if (instanceIds.length > MAX_INSTANCES)
    return fault("Unavailable", `security groups: more than ${MAX_INSTANCES} instances, not looked at`);
  const instances = await describeByIds(instanceIds, read);
  if (instances.kind === "fault") return instances;
  const ours = new Set(
    instances.value.flatMap((each) => (isTagged(each, clusterTag) ? each.InstanceId : [])),
  );
  const isProven = (id: string): boolean => {
    const having = interfaces.value.filter(({ Groups = [] }) => Groups.some(({ GroupId }) => GroupId === id));
    return having.length > 0 && having.every((each) => ours.has(instanceOf(each)));
  };
  return ok(new Set(ids.filter(isProven)));
}

function isTagged({ Tags }: Instance, clusterTag: string): boolean {
  return isOfCluster(pairsOf(Tags), clusterTag);
}

function instanceOf({ Attachment }: NetworkInterface): string | undefined {
  return Attachment?.InstanceId;
}
