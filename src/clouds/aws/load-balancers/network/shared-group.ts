import { createHash } from "node:crypto";
import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import {
  getNodePortRange,
  type LoadBalancerConfiguration,
} from "#clouds/aws/load-balancers/configuration.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { CLUSTER_TAG_PREFIX, isOwned } from "#clouds/aws/load-balancers/ownership.ts";
import type { SecurityGroupState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import { toTagList } from "#clouds/aws/load-balancers/tags.ts";
import type { Opening, PlanResult } from "#clouds/aws/load-balancers/types.ts";
import { SHARED_RULE } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import type { Issue } from "#core/service/model.ts";

/**
 * Plans the security group that all network load balancers of a cluster share, so that nodes need one set of
 * rules: creates it if missing. It has no inbound rules and belongs to no Service.
 */
export function planSharedGroup({ owner, state }: NetworkContext): PlanResult<string> {
  const name = formatSharedGroupName(owner.clusterTag);
  const named = state.vpc.groups.find(({ group }) => group.GroupName === name);
  if (named === undefined) {
    const request = {
      GroupName: name,
      Description: "Shared by the network load balancers of a cluster, and let in by its nodes",
      VpcId: state.vpc.id,
      TagSpecifications: [
        {
          ResourceType: "security-group" as const,
          Tags: toTagList({ [`${CLUSTER_TAG_PREFIX}${owner.clusterTag}`]: "owned" }),
        },
      ],
    };
    return { kind: "act", actions: [buildAction("ec2:CreateSecurityGroup", name, request)] };
  }
  if (!isOwned(named.tags, owner.clusterTag)) return { kind: "refused", issue: buildForeignIssue(named) };
  return { kind: "ready", value: named.group.GroupId ?? "" };
}

/**
 * Builds the rules with which nodes allow the group, for all Services; `healthPort` if kube-proxy's own port
 * is checked.
 */
export function buildSharedGroupOpenings(
  id: string,
  healthPort: number | undefined,
  configuration: LoadBalancerConfiguration,
): readonly Opening[] {
  const from = { groupIds: [id], description: SHARED_RULE };
  const ports = getNodePortRange(configuration);
  return [
    { protocol: "tcp", ports, ...from },
    { protocol: "udp", ports, ...from },
    ...(healthPort === undefined
      ? []
      : [{ protocol: "tcp", ports: [healthPort, healthPort], ...from } as const]),
  ];
}

/** Returns whether a port is in the cluster's node port range, at which nodes allow the shared group. */
export function isInNodePortRange(port: number, configuration: LoadBalancerConfiguration): boolean {
  const [first, last] = getNodePortRange(configuration);
  return first <= port && port <= last;
}

/** Returns the id of the cluster's shared group if it exists, desired or not. */
export function findSharedGroupId(clusterTag: string, groups: VpcState["groups"]): string | undefined {
  const name = formatSharedGroupName(clusterTag);
  return groups.find(({ group, tags }) => group.GroupName === name && isOwned(tags, clusterTag))?.group
    .GroupId;
}

/** Formats the name of the group from any cluster tag. */
export function formatSharedGroupName(clusterTag: string): string {
  const hash = createHash("sha256").update(clusterTag).digest("hex").slice(0, 10);
  return `k8s-backend-${clusterTag.replaceAll(/[^0-9A-Za-z]/g, "").slice(0, 20)}-${hash}`;
}

function buildForeignIssue({ group }: SecurityGroupState): Issue {
  return {
    code: "NameTaken",
    detail: `security group ${group.GroupId} has the name ${group.GroupName}, and its tags do not name the cluster`,
  };
}
