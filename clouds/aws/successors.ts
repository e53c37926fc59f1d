import type { AwsCluster } from "#clouds/aws/belonging.ts";
import { findCandidates } from "#clouds/aws/candidates.ts";
import { PRIVATE_DNS_NAME } from "#clouds/aws/means.ts";
import { isInstanceId } from "#clouds/aws/provider-id.ts";
import { isOurs, isUnseen, type Resolution, type Resolutions } from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { Node } from "#core/node/node.ts";

/**
 * Of nodes whose instance is gone, by their provider ID: the running instance of the cluster that has their private DNS name by
 * now, as EC2 gives addresses and with them names away again. One look-up for all of them, and none where there is no such node.
 */
export async function findSuccessors(
  resolutions: Resolutions,
  session: Session,
  cluster: AwsCluster,
): Promise<ReadonlyMap<Node, string>> {
  const names = new Map(
    [...resolutions].flatMap(([node, resolution]) =>
      isGone(resolution) && node.spec.providerID
        ? privateNamesOf(node, cluster).map((name) => [node, name])
        : [],
    ) as [Node, string][],
  );
  if (names.size === 0) return new Map();
  const { found } = await findCandidates([...names.values()], PRIVATE_DNS_NAME, session, cluster);
  return new Map(
    [...names].flatMap(([node, name]): [Node, string][] => {
      const running = (found.get(name) ?? []).filter(
        (each) => each.instance.State?.Name === "running" && isOurs(each, cluster),
      );
      const [successor, second] = running;
      return successor === undefined || second !== undefined ? [] : [[node, successor.id]];
    }),
  );
}

/** One that is somebody else's is looked up too: how long that takes must not tell it from one that is not there. */
function isGone(resolution: Resolution): boolean {
  return (
    isUnseen(resolution) ||
    (resolution.kind === "instance" && resolution.found.instance.State?.Name === "terminated")
  );
}

/** A private DNS name has a domain; one that begins with an instance id is never another instance's. */
function privateNamesOf(node: Node, { region }: AwsCluster): readonly string[] {
  const { name } = node.metadata;
  const [label = "", domain] = name.split(".", 2);
  return domain === undefined || isInstanceId(label) ? [] : PRIVATE_DNS_NAME.keysOfNode(node, region);
}
