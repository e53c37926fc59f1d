import type { Fault } from "#clouds/http/outcome.ts";
import type { Queried } from "#clouds/listed/query.ts";

/** The machine found for a node; `guess` if it matched by less than identity. */
export interface Claim {
  readonly id: string;
  readonly guess: boolean;
}

/** A failed resolution. */
interface FailedResolution {
  readonly kind: "fault";
  readonly fault: Fault;
}

/**
 * Drops guesses that another node's claim to the same machine disproves. `buildClaim` returns the claim of a
 * resolution, and `machine` is the cloud's own word for one.
 */
export function settleGuesses<Node extends Queried, Resolution>(
  resolutions: ReadonlyMap<Node, Resolution>,
  buildClaim: (resolution: Resolution) => Claim | undefined,
  machine: string,
): ReadonlyMap<Node, Resolution | FailedResolution> {
  const claims = new Map<string, string[]>();
  for (const [{ metadata }, resolution] of resolutions) {
    const claim = buildClaim(resolution);
    if (claim === undefined) continue;
    const names = claims.get(claim.id);
    if (names === undefined) claims.set(claim.id, [metadata.name]);
    else names.push(metadata.name);
  }
  return new Map(
    [...resolutions].map(([node, resolution]): [Node, Resolution | FailedResolution] => {
      const claim = buildClaim(resolution);
      const names = claim?.guess === true ? (claims.get(claim.id) ?? []) : [];
      if (claim === undefined || names.length < 2) return [node, resolution];
      const message = `${machine} ${claim.id} is claimed by ${names.toSorted().slice(0, 5).join(" and ")}`;
      return [node, { kind: "fault", fault: { code: "Ambiguous", message } }];
    }),
  );
}
