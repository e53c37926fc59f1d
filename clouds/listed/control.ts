import type { Outcome } from "#clouds/http/outcome.ts";
import type { NotOurs } from "#clouds/listed/look-up.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import { isSought, type Queried, type Query } from "#clouds/listed/query.ts";
import type { Resolution } from "#clouds/listed/resolve.ts";

/** What a proof may be made of. */
export interface ControlSources<M extends Machine> {
  readonly queries: ReadonlyMap<Queried, Query>;
  readonly notOurs: NotOurs<M>;
  /** Whether a machine has not ended; one that has proves nothing. */
  readonly isAlive: (machine: M) => boolean;
  /** Machines of the account, for what their being there proves; a later list only where those of no earlier one are the cluster's. */
  readonly lists: readonly (() => Promise<Outcome<readonly M[]>>)[];
}

/**
 * The id of a machine of the cluster that was there to be seen: whatever was not found with it was looked for in the right
 * account. One of the batch where it found one, else one of a list. Undefined where there is none, and where nothing of the batch
 * was missed.
 */
export async function findControl<M extends Machine>(
  resolutions: ReadonlyMap<Queried, Resolution<M>>,
  { queries, notOurs, isAlive, lists }: ControlSources<M>,
): Promise<string | undefined> {
  const sought = [...resolutions].filter(([node]) => isSought(queries.get(node)));
  if (!sought.some(([, resolution]) => isUnseen(resolution))) return undefined;
  const [found] = sought.flatMap(([, each]) =>
    each.kind === "machine" && isAlive(each.machine) ? [each.machine] : [],
  );
  if (found !== undefined) return found.id;
  // A list may still show for a moment what was said not to be there; that proves nothing.
  const asked = new Set([...queries.values()].flatMap((query) => ("id" in query ? [query.id] : [])));
  for (const list of lists) {
    const listed = await list();
    if (listed.kind === "fault") return undefined;
    const control = listed.value.find(
      (machine) => !asked.has(machine.id) && isAlive(machine) && notOurs(machine, undefined) === undefined,
    );
    if (control !== undefined) return control.id;
  }
  return undefined;
}

/** How long it takes must not tell a machine of somebody else's from none. */
function isUnseen<M extends Machine>(resolution: Resolution<M>): boolean {
  return (
    resolution.kind === "absent" ||
    (resolution.kind === "fault" &&
      (resolution.fault.code === "Foreign" || resolution.fault.code === "Denied"))
  );
}
