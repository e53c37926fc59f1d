import type { AwsCluster } from "#clouds/aws/belonging.ts";
import { findCandidates } from "#clouds/aws/candidates.ts";
import type { Fault } from "#clouds/aws/errors.ts";
import { PRIVATE_DNS_NAME } from "#clouds/aws/means.ts";
import { isInstanceId } from "#clouds/aws/provider-id.ts";
import { isOurs, isUnseen, type Resolution, type Resolutions } from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { Node } from "#core/node/node.ts";

/** The ids of those that have taken nodes' names over, and why of other nodes nobody can tell. */
export interface Successors {
  readonly found: ReadonlyMap<Node, string>;
  readonly faults: ReadonlyMap<Node, Fault>;
}

/**
 * Of nodes whose instance is gone, by their provider ID: the running instance of the cluster that has their private DNS name by
 * now, as EC2 gives addresses and with them names away again. One look-up for all of them, and none where there is no such node.
 */
export async function findSuccessors(
  resolutions: Resolutions,
  session: Session,
  cluster: AwsCluster,
): Promise<Successors> {
  const names = new Map(
    [...resolutions].flatMap(([node, resolution]) =>
      isGone(resolution) && node.spec.providerID
        ? privateNamesOf(node, cluster).map((name) => [node, name])
        : [],
    ) as [Node, string][],
  );
  const found = new Map<Node, string>();
  const faults = new Map<Node, Fault>();
  if (names.size === 0) return { found, faults };
  const candidates = await findCandidates([...names.values()], PRIVATE_DNS_NAME, session, cluster);
  for (const [node, name] of names) {
    const fault = candidates.faults.get(name);
    if (fault !== undefined) faults.set(node, fault);
    const running = (candidates.found.get(name) ?? []).filter(
      (each) => each.instance.State?.Name === "running" && isOurs(each, cluster),
    );
    const [successor, second] = running;
    if (successor !== undefined && second === undefined) found.set(node, successor.id);
  }
  return { found, faults };
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
