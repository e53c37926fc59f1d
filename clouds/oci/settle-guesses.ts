import type { Resolution } from "#clouds/oci/resolution.ts";
import type { Node } from "#core/node/node.ts";

/** Where less than identity made a node an instance, another node's claim to that instance disproves the guess. */
export function settleGuesses(resolutions: ReadonlyMap<Node, Resolution>): ReadonlyMap<Node, Resolution> {
  const claims = new Map<string, string[]>();
  for (const [{ metadata }, resolution] of resolutions) {
    if (resolution.kind !== "instance") continue;
    const { id } = resolution.instance;
    claims.set(id, [...(claims.get(id) ?? []), metadata.name]);
  }
  const settled = [...resolutions].map(([node, resolution]): [Node, Resolution] => {
    if (resolution.kind !== "instance" || !resolution.guess) return [node, resolution];
    const names = claims.get(resolution.instance.id) ?? [];
    if (names.length < 2) return [node, resolution];
    const message = `instance ${resolution.instance.id} is claimed by ${names.toSorted().slice(0, 5).join(" and ")}`;
    return [node, { kind: "fault", fault: { code: "Ambiguous", message } }];
  });
  return new Map(settled);
}
