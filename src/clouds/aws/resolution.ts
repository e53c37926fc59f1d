import type { NetworkInterface } from "@aws-sdk/client-ec2";
import type { FoundInstance } from "#clouds/aws/describe-instances.ts";
import {
  checkResourceOwnership,
  hasClusterTags,
  hasLostOwner,
  type Ownership,
  type OwnershipFacts,
} from "#clouds/aws/ownership.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { InstanceAnswer, InstanceErrorCode } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";

/** What was found for a node, checked for ownership, or the answer that ends the search. */
export type Resolution =
  | { readonly kind: "instance"; readonly found: FoundInstance }
  | { readonly kind: "interface"; readonly eni: NetworkInterface }
  | { readonly kind: "answer"; readonly answer: InstanceAnswer };

/** Resolutions by the node objects of the batch. */
export type Resolutions = ReadonlyMap<Node, Resolution>;

export function buildErrorResolution(code: InstanceErrorCode, message: string): Resolution {
  return { kind: "answer", answer: { kind: "error", code, message } };
}

export function buildNotFound(message: string): Resolution {
  return { kind: "answer", answer: { kind: "not-found", message } };
}

/**
 * Selects the one candidate that the cluster owns. Two are ambiguous; only foreign ones are foreign; no
 * candidate is undefined. A terminated instance without proof of ownership counts as not found. `sought`
 * describes the search in messages.
 */
export function chooseInstance(
  found: readonly FoundInstance[],
  ownership: Ownership,
  search: string,
): Resolution | undefined {
  const candidates = found.filter(({ instance }) => !hasLostOwner(ownership, getOwnershipFacts(instance)));
  const ownedCandidates = candidates.filter((candidate) => isClusterInstance(candidate, ownership));
  const [owned, second] = ownedCandidates;
  if (second !== undefined) {
    const ids = ownedCandidates.map(({ id }) => id).toSorted();
    return buildErrorResolution(
      "Ambiguous",
      `${search}: ${ids.length} instances, ${ids.slice(0, 5).join(", ")}`,
    );
  }
  if (owned !== undefined) return { kind: "instance", found: owned };
  const [foreign] = candidates;
  if (foreign === undefined) return undefined;
  const reason = checkResourceOwnership(ownership, getOwnershipFacts(foreign.instance));
  return buildErrorResolution("Foreign", `${search}: instance ${foreign.id} is not the cluster's: ${reason}`);
}

/**
 * Resolves a node that names its instance by id. `result` is what EC2 returned for the id: an instance, the
 * answer that replaces it, or nothing.
 */
export function buildResolutionById(
  node: Node,
  id: string,
  result: FoundInstance | Resolution | undefined,
  ownership: Ownership,
): Resolution {
  const search = `node ${node.metadata.name}, looked for by instance id ${id}`;
  if (result === undefined) return buildNotFound(`${search}: EC2 has no such instance`);
  if ("kind" in result) return result;
  if (wasOwned(node, result, ownership)) return { kind: "instance", found: result };
  return (
    chooseInstance([result], ownership, search) ??
    buildNotFound(`${search}: it is terminated, and its owner is unknown`)
  );
}

/** Whether an instance belongs to the cluster. */
export function isClusterInstance(
  { instance }: Pick<FoundInstance, "instance">,
  ownership: Ownership,
): boolean {
  return checkResourceOwnership(ownership, getOwnershipFacts(instance)) === undefined;
}

/**
 * Whether a terminated instance without VPC and cluster tags was this node's. The node's instance annotation
 * must name it, with the cluster's account and the configured VPC.
 */
export function wasOwned(
  node: Node,
  { id, account, instance }: FoundInstance,
  ownership: Ownership,
): boolean {
  const facts = getOwnershipFacts(instance);
  if (ownership.vpc === undefined || account === "") return false;
  if (!hasLostOwner(ownership, facts) || hasClusterTags(facts)) return false;
  return node.metadata.annotations?.[INSTANCE_ANNOTATION] === `${account}/${ownership.vpc}/${id}`;
}

/** Whether the cluster has no such instance: it does not exist or is foreign. */
export function isMissingOrForeign(resolution: Resolution): boolean {
  if (resolution.kind !== "answer") return false;
  const { answer } = resolution;
  return answer.kind === "not-found" || (answer.kind === "error" && answer.code === "Foreign");
}

/** Whether a terminated instance has neither its VPC nor a tag of any cluster. */
export function isForgotten({ instance }: FoundInstance): boolean {
  const { vpc, isTerminated, ...rest } = getOwnershipFacts(instance);
  return isTerminated === true && vpc === undefined && !hasClusterTags({ vpc, ...rest });
}

function getOwnershipFacts({
  VpcId: vpc,
  Tags: tags,
  State: state,
}: FoundInstance["instance"]): OwnershipFacts {
  return { vpc, tags, isTerminated: state?.Name === "terminated" };
}
