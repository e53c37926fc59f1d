import type { NetworkInterface } from "@aws-sdk/client-ec2";
import {
  type Belongings,
  foreignBecause,
  hasClusterTags,
  isNobodys,
  type Ownership,
} from "#clouds/aws/belonging.ts";
import type { Found } from "#clouds/aws/describe-instances.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { InstanceAnswer, InstanceErrorCode } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";

/** What a node was found to be, already known to belong to the cluster; or the answer that ends the search. */
export type Resolution =
  | { readonly kind: "instance"; readonly found: Found }
  | { readonly kind: "interface"; readonly eni: NetworkInterface }
  | { readonly kind: "answer"; readonly answer: InstanceAnswer };

/** By the node objects of the batch. */
export type Resolutions = ReadonlyMap<Node, Resolution>;

export function errorResolution(code: InstanceErrorCode, message: string): Resolution {
  return { kind: "answer", answer: { kind: "error", code, message } };
}

export function notFound(message: string): Resolution {
  return { kind: "answer", answer: { kind: "not-found", message } };
}

/**
 * The one candidate that is the cluster's. Two of them are ambiguous, none among some is foreign, and none at all is
 * undefined; one that has ended, and of which nothing is left to tell whose it was, is none. `sought` says what was looked for,
 * for whom.
 */
export function choose(
  found: readonly Found[],
  ownership: Ownership,
  sought: string,
): Resolution | undefined {
  const candidates = found.filter(({ instance }) => !isNobodys(ownership, belongingsOf(instance)));
  const ours = candidates.filter((candidate) => isOurs(candidate, ownership));
  const [own, second] = ours;
  if (second !== undefined) {
    const ids = ours.map(({ id }) => id).toSorted();
    return errorResolution("Ambiguous", `${sought}: ${ids.length} instances, ${ids.slice(0, 5).join(", ")}`);
  }
  if (own !== undefined) return { kind: "instance", found: own };
  const [foreign] = candidates;
  if (foreign === undefined) return undefined;
  const because = foreignBecause(ownership, belongingsOf(foreign.instance));
  return errorResolution("Foreign", `${sought}: instance ${foreign.id} is not the cluster's: ${because}`);
}

/** Whether an instance is the cluster's. */
export function isOurs({ instance }: Pick<Found, "instance">, ownership: Ownership): boolean {
  return foreignBecause(ownership, belongingsOf(instance)) === undefined;
}

/**
 * Whether an instance that has ended, and of which EC2 has forgotten VPC and cluster tags alike, was this node's: the node says
 * so itself, in the annotation of its initialization, and the account and the configured VPC are the ones that it names there.
 */
export function wasOurs(node: Node, { id, account, instance }: Found, ownership: Ownership): boolean {
  const belongings = belongingsOf(instance);
  if (ownership.vpc === undefined || account === "") return false;
  if (!isNobodys(ownership, belongings) || hasClusterTags(belongings)) return false;
  return node.metadata.annotations?.[INSTANCE_ANNOTATION] === `${account}/${ownership.vpc}/${id}`;
}

/** Whether the cluster has nothing of the kind that was looked for: there is none, or it is somebody else's. */
export function isUnseen(resolution: Resolution): boolean {
  if (resolution.kind !== "answer") return false;
  const { answer } = resolution;
  return answer.kind === "not-found" || (answer.kind === "error" && answer.code === "Foreign");
}

/** Whether an instance has ended, and neither its VPC nor a tag of any cluster is left to tell whose it was. */
export function isForgotten({ instance }: Found): boolean {
  const { vpc, terminated, ...rest } = belongingsOf(instance);
  return terminated === true && vpc === undefined && !hasClusterTags({ vpc, ...rest });
}

function belongingsOf({ VpcId: vpc, Tags: tags, State: state }: Found["instance"]): Belongings {
  return { vpc, tags, terminated: state?.Name === "terminated" };
}
