import { createHash } from "node:crypto";
import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { type LoadBalancerConfiguration, nodePortRangeIn } from "#clouds/aws/load-balancers/configuration.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { CLUSTER_TAG_PREFIX, isOwned } from "#clouds/aws/load-balancers/ownership.ts";
import type { Opening, Piece } from "#clouds/aws/load-balancers/pieces.ts";
import type { SecurityGroupState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import { tagList } from "#clouds/aws/load-balancers/tags.ts";
import { SHARED_RULE } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import type { Problem } from "#core/service/model.ts";

/**
 * The security group that a cluster's network load balancers share, so that nodes let it in once for all of them: made where there is
 * none. It lets nothing in itself, and belongs to no Service.
 */
export function planSharedGroup({ owner, state }: NetworkContext): Piece<string> {
  const name = sharedGroupName(owner.clusterTag);
  const named = state.vpc.groups.find(({ group }) => group.GroupName === name);
  if (named === undefined) {
    const request = {
      GroupName: name,
      Description: "Shared by the network load balancers of a cluster, and let in by its nodes",
      VpcId: state.vpc.id,
      TagSpecifications: [
        {
          ResourceType: "security-group" as const,
          Tags: tagList({ [`${CLUSTER_TAG_PREFIX}${owner.clusterTag}`]: "owned" }),
        },
      ],
    };
    return { kind: "act", actions: [awsAction("ec2:CreateSecurityGroup", name, request)] };
  }
  if (!isOwned(named.tags, owner.clusterTag)) return { kind: "refused", problem: foreign(named) };
  return { kind: "ready", value: named.group.GroupId ?? "" };
}

/** What nodes let in from the group, for all Services; `healthPort` where kube-proxy's own is looked at. */
export function openingsOfShared(
  id: string,
  healthPort: number | undefined,
  configuration: LoadBalancerConfiguration,
): readonly Opening[] {
  const from = { groupIds: [id], description: SHARED_RULE };
  const ports = nodePortRangeIn(configuration);
  return [
    { protocol: "tcp", ports, ...from },
    { protocol: "udp", ports, ...from },
    ...(healthPort === undefined
      ? []
      : [{ protocol: "tcp", ports: [healthPort, healthPort], ...from } as const]),
  ];
}

/** Whether a port is among those that nodes let the group in at. */
export function isNodePort(port: number, configuration: LoadBalancerConfiguration): boolean {
  const [first, last] = nodePortRangeIn(configuration);
  return first <= port && port <= last;
}

/** The id of the group where the cluster has one, wanted or not. */
export function sharedGroupId(clusterTag: string, groups: VpcState["groups"]): string | undefined {
  const name = sharedGroupName(clusterTag);
  return groups.find(({ group, tags }) => group.GroupName === name && isOwned(tags, clusterTag))?.group
    .GroupId;
}

/** The name of the group, whatever the cluster is called. */
export function sharedGroupName(clusterTag: string): string {
  const hash = createHash("sha256").update(clusterTag).digest("hex").slice(0, 10);
  return `k8s-backend-${clusterTag.replaceAll(/[^0-9A-Za-z]/g, "").slice(0, 20)}-${hash}`;
}

function foreign({ group }: SecurityGroupState): Problem {
  return {
    code: "NameTaken",
    detail: `security group ${group.GroupId} is called ${group.GroupName} and is not the cluster's by its tags`,
  };
}
