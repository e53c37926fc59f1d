import type { Fault } from "#clouds/http/outcome.ts";
import type { Queried } from "#clouds/listed/query.ts";

/** The machine that a node was found to be; `guess` where it was less than identity that told. */
export interface Claim {
  readonly id: string;
  readonly guess: boolean;
}

/** A resolution that came to nothing. */
interface Failed {
  readonly kind: "fault";
  readonly fault: Fault;
}

/**
 * Where less than identity made a node a machine, another node's claim to that machine disproves the guess. `claimOf` tells what a
 * resolution claims, and `machine` is the cloud's own word for one.
 */
export function settleGuesses<Node extends Queried, Resolution>(
  resolutions: ReadonlyMap<Node, Resolution>,
  claimOf: (resolution: Resolution) => Claim | undefined,
  machine: string,
): ReadonlyMap<Node, Resolution | Failed> {
  const claims = new Map<string, string[]>();
  for (const [{ metadata }, resolution] of resolutions) {
    const claim = claimOf(resolution);
    if (claim === undefined) continue;
    const names = claims.get(claim.id);
    if (names === undefined) claims.set(claim.id, [metadata.name]);
    else names.push(metadata.name);
  }
  return new Map(
    [...resolutions].map(([node, resolution]): [Node, Resolution | Failed] => {
      const claim = claimOf(resolution);
      const names = claim?.guess === true ? (claims.get(claim.id) ?? []) : [];
      if (claim === undefined || names.length < 2) return [node, resolution];
      const message = `${machine} ${claim.id} is claimed by ${names.toSorted().slice(0, 5).join(" and ")}`;
      return [node, { kind: "fault", fault: { code: "Ambiguous", message } }];
    }),
  );
}
