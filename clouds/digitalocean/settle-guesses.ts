import type { Resolution } from "#clouds/digitalocean/resolve.ts";
import type { Node } from "#core/node/node.ts";

/** Where an address alone made a node a droplet, another node's claim to that droplet disproves the guess. */
export function settleGuesses(resolutions: ReadonlyMap<Node, Resolution>): ReadonlyMap<Node, Resolution> {
  const claims = new Map<string, string[]>();
  for (const [{ metadata }, resolution] of resolutions) {
    if (resolution.kind !== "droplet") continue;
    const { id } = resolution.droplet;
    claims.set(id, [...(claims.get(id) ?? []), metadata.name]);
  }
  const settled = [...resolutions].map(([node, resolution]): [Node, Resolution] => {
    if (resolution.kind !== "droplet" || !resolution.guess) return [node, resolution];
    const names = claims.get(resolution.droplet.id) ?? [];
    if (names.length < 2) return [node, resolution];
    const message = `droplet ${resolution.droplet.id} is claimed by ${names.toSorted().slice(0, 5).join(" and ")}`;
    return [node, { kind: "fault", fault: { code: "Ambiguous", message } }];
  });
  return new Map(settled);
}
