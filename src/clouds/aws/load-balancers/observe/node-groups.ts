import type { Instance, NetworkInterface } from "@aws-sdk/client-ec2";
import type { Outcome } from "#clouds/aws/errors.ts";
import { describeByIds } from "#clouds/aws/load-balancers/observe/instances.ts";
import { type Reader, readAllPages } from "#clouds/aws/load-balancers/observe/reads.ts";
import {
  type ClusterIdentity,
  hasClusterTag,
  isNodeSecurityGroup,
  isOfCluster,
  isOwned,
} from "#clouds/aws/load-balancers/ownership.ts";
import type { SecurityGroupState } from "#clouds/aws/load-balancers/state.ts";
import { toPairs } from "#clouds/aws/load-balancers/tags.ts";
import { parsePermissions, type Rule } from "#clouds/aws/load-balancers/vpc/rules.ts";
import { type CloudError, fault, ok } from "#clouds/outcome.ts";

/** Criteria for the security groups that must be proven to be on the cluster's instances alone. */
export interface GroupsRequest {
  readonly identity: ClusterIdentity;
  /** Groups of the targets. */
  readonly groupIds: ReadonlySet<string>;
  /** Whether a rule may be one of ours; a rule that allows a group of the cluster's own always may. */
  readonly isOurs: (rule: Rule) => boolean;
}

/** Finds out which security groups without the cluster's tag are on the cluster's instances alone. */
export interface NodeGroupProofs {
  /**
   * Returns the groups, with `isOnNodesAlone` if AWS proves it. It reads at most `MAX_GROUPS` groups that
   * matter and have no other proof. A missing permission or an unfinished listing proves nothing. Returns the fault
   * if a retry may prove more: otherwise a Service that is deleted would leave its rules in these groups.
   */
  prove(
    groups: readonly SecurityGroupState[],
    request: GroupsRequest,
    read: Reader,
  ): Promise<Outcome<readonly SecurityGroupState[]>>;
}

/** Creates an empty cache. `now` is a monotonic clock in milliseconds. */
export function createNodeGroupProofs(now: () => number): NodeGroupProofs {
  const cache = new Map<string, { readonly isProven: boolean; readonly untilMs: number }>();
  const isFresh = (id: string): boolean => (cache.get(id)?.untilMs ?? Number.NEGATIVE_INFINITY) > now();
  return {
    async prove(groups, request, read) {
      const ids = selectCandidates(groups, request).slice(0, MAX_GROUPS);
      const unknown = ids.filter((id) => !isFresh(id));
      const answer =
        unknown.length === 0
          ? ok(new Set<string>())
          : await readProvenGroups(unknown, request.identity, read);
      if (answer.kind === "fault" && isTemporary(answer.fault)) return answer;
      if (answer.kind === "ok") {
        if (cache.size + unknown.length > MAX_KNOWN) cache.clear();
        for (const id of unknown) {
          const isProven = answer.value.has(id);
          cache.set(id, { isProven, untilMs: now() + (isProven ? PROVEN_MS : UNPROVEN_MS) });
        }
      }
      const proven = new Set(ids.filter((id) => isFresh(id) && cache.get(id)?.isProven === true));
      return ok(
        groups.map((each) =>
          proven.has(each.group.GroupId ?? "") ? { ...each, isOnNodesAlone: true } : each,
        ),
      );
    },
  };
}

function isTemporary({ code, transient }: CloudError): boolean {
  return code === "Throttled" || code === "Aborted" || transient === true;
}

/** Maximum groups per request. */
const MAX_GROUPS = 50;
/** Maximum instances per group; a larger group needs the tag. */
const MAX_INSTANCES = 2_000;
/** Time for which an answer is cached. */
const PROVEN_MS = 60_000;
const UNPROVEN_MS = 10_000;
const MAX_KNOWN = 1_000;

/** Selects groups to check, those of targets first. */
function selectCandidates(
  groups: readonly SecurityGroupState[],
  { identity, groupIds, isOurs }: GroupsRequest,
): readonly string[] {
  const ownedIds = new Set(
    groups.flatMap(({ group, tags }) => (isOwned(tags, identity.clusterTag) ? (group.GroupId ?? []) : [])),
  );
  const isRelevant = (rule: Rule): boolean =>
    (rule.from === "group" && ownedIds.has(rule.peer)) || isOurs(rule);
  const unprovenIds = groups.flatMap(({ group: { GroupId: id = "" }, tags, ingress }) => {
    if (hasClusterTag(tags) || isNodeSecurityGroup({ id, tags }, identity)) return [];
    return groupIds.has(id) || parsePermissions(ingress).some(isRelevant) ? [id] : [];
  });
  return unprovenIds.toSorted((one, other) => Number(groupIds.has(other)) - Number(groupIds.has(one)));
}

/**
 * Returns the groups that have at least one network interface, all of them on instances with the cluster's
 * tag.
 */
async function readProvenGroups(
  ids: readonly string[],
  { clusterTag }: ClusterIdentity,
  read: Reader,
): Promise<Outcome<ReadonlySet<string>>> {
  const interfaces = await readAllPages("DescribeNetworkInterfaces", async (next) => {
    const answer = await read("ec2:DescribeNetworkInterfaces", {
      Filters: [{ Name: "group-id", Values: [...ids] }],
      MaxResults: 1000,
      ...(next === undefined ? {} : { NextToken: next }),
    });
    if (answer.kind === "fault") return answer;
    return ok({ values: answer.value.NetworkInterfaces, next: answer.value.NextToken });
  });
  if (interfaces.kind === "fault") return interfaces;
  const instanceIds = [...new Set(interfaces.value.flatMap((each) => getAttachedInstance(each) ?? []))];
  if (instanceIds.length > MAX_INSTANCES)
    return fault("Unavailable", `security groups: more than ${MAX_INSTANCES} instances, not checked`);
  const instances = await describeByIds(instanceIds, read);
  if (instances.kind === "fault") return instances;
  const clusterInstanceIds = new Set(
    instances.value.flatMap((each) => (isTagged(each, clusterTag) ? each.InstanceId : [])),
  );
  const isProven = (id: string): boolean => {
    const interfacesOfGroup = interfaces.value.filter(({ Groups = [] }) =>
      Groups.some(({ GroupId }) => GroupId === id),
    );
    return (
      interfacesOfGroup.length > 0 &&
      interfacesOfGroup.every((each) => clusterInstanceIds.has(getAttachedInstance(each)))
    );
  };
  return ok(new Set(ids.filter(isProven)));
}

function isTagged({ Tags }: Instance, clusterTag: string): boolean {
  return isOfCluster(toPairs(Tags), clusterTag);
}

function getAttachedInstance({ Attachment }: NetworkInterface): string | undefined {
  return Attachment?.InstanceId;
}
