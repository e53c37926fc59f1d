import { findCandidates } from "#clouds/aws/candidates.ts";
import type { Fault } from "#clouds/aws/errors.ts";
import { PRIVATE_DNS_NAME } from "#clouds/aws/node-matchers.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { isInstanceId } from "#clouds/aws/provider-id.ts";
import {
  isClusterInstance,
  isMissingOrForeign,
  type Resolution,
  type Resolutions,
} from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { Node } from "#core/node/node.ts";

/** The ids of replacement instances by node, and the faults of nodes for which they are unknown. */
export interface ReplacementInstances {
  readonly found: ReadonlyMap<Node, string>;
  readonly faults: ReadonlyMap<Node, Fault>;
}

/**
 * Finds the replacement instances of nodes whose instance is gone: the cluster's running instance that now
 * has their private DNS name, by provider ID. EC2 reuses addresses and with them names. Uses one look-up for
 * all nodes, and none if there is no such node.
 */
export async function findReplacementInstances(
  resolutions: Resolutions,
  session: Session,
  cluster: AwsCluster,
): Promise<ReplacementInstances> {
  const names = new Map(
    [...resolutions].flatMap(([node, resolution]) =>
      isGone(resolution) && node.spec.providerID
        ? listPrivateDnsNames(node, cluster).map((name) => [node, name])
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
      (each) => each.instance.State?.Name === "running" && isClusterInstance(each, cluster),
    );
    const [replacement, second] = running;
    if (replacement !== undefined && second === undefined) found.set(node, replacement.id);
  }
  return { found, faults };
}

/** A foreign instance is looked up too, so that the duration does not tell it from a missing one. */
function isGone(resolution: Resolution): boolean {
  return (
    isMissingOrForeign(resolution) ||
    (resolution.kind === "instance" && resolution.found.instance.State?.Name === "terminated")
  );
}

/**
 * A private DNS name has a domain. A name that begins with an instance id never belongs to another instance.
 */
function listPrivateDnsNames(node: Node, { region }: AwsCluster): readonly string[] {
  const { name } = node.metadata;
  const [label = "", domain] = name.split(".", 2);
  return domain === undefined || isInstanceId(label) ? [] : PRIVATE_DNS_NAME.listNodeKeys(node, region);
}
