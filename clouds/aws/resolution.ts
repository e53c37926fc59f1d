import type { NetworkInterface } from "@aws-sdk/client-ec2";
import { type Belongings, foreignBecause, isNobodys, type Ownership } from "#clouds/aws/belonging.ts";
import type { Found } from "#clouds/aws/describe-instances.ts";
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
export function isOurs({ instance }: Found, ownership: Ownership): boolean {
  return foreignBecause(ownership, belongingsOf(instance)) === undefined;
}

function belongingsOf({ VpcId: vpc, Tags: tags, State: state }: Found["instance"]): Belongings {
  return { vpc, tags, terminated: state?.Name === "terminated" };
}
