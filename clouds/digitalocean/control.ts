import { notOurs, type Ownership } from "#clouds/digitalocean/belonging.ts";
import type { Droplet } from "#clouds/digitalocean/droplet.ts";
import { queryOf } from "#clouds/digitalocean/query.ts";
import type { Resolution } from "#clouds/digitalocean/resolve.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Node } from "#core/node/node.ts";

/**
 * The id of a droplet of the cluster that was there to be seen: whatever was not found with it was looked for in the right
 * account. One of the batch where it found one, else one of a list, which is asked for by `list`. Undefined where there is none,
 * and where nothing of the batch was missed.
 */
export async function findControl(
  resolutions: ReadonlyMap<Node, Resolution>,
  ownership: Ownership,
  list: () => Promise<Outcome<readonly Droplet[]>>,
): Promise<string | undefined> {
  const all = [...resolutions.values()];
  if (!all.some(isUnseen)) return undefined;
  const found = all.find((resolution) => resolution.kind === "droplet");
  if (found !== undefined) return found.droplet.id;
  const listed = await list();
  if (listed.kind === "fault") return undefined;
  // A list may still show for a moment what was said not to be there; that proves nothing.
  const asked = new Set(
    [...resolutions.keys()].map(queryOf).flatMap((query) => ("id" in query ? [query.id] : [])),
  );
  return listed.value.find((droplet) => !asked.has(droplet.id) && notOurs(ownership, droplet) === undefined)
    ?.id;
}

/** How long it takes must not tell a droplet of somebody else's from none. */
function isUnseen(resolution: Resolution): boolean {
  return (
    resolution.kind === "absent" ||
    (resolution.kind === "fault" &&
      (resolution.fault.code === "Foreign" || resolution.fault.code === "Denied"))
  );
}
