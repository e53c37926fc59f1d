import type { Outcome } from "#clouds/http/outcome.ts";
import type { NotOurs } from "#clouds/listed/look-up.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import { isSought, type Query } from "#clouds/listed/query.ts";
import type { Resolution } from "#clouds/listed/resolve.ts";
import type { PositiveControl } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { findDifference, readPlace } from "#core/node-lifecycle/place.ts";

/** What a proof may be made of. */
export interface ControlSources<M extends Machine> {
  readonly queries: ReadonlyMap<Node, Query>;
  readonly notOurs: NotOurs<M>;
  /** Whether a machine has not ended; one that has proves nothing. */
  readonly isAlive: (machine: M) => boolean;
  /** A machine as a proof: what it is called, and where it is. */
  readonly locate: (machine: M) => PositiveControl;
  /** Machines of the account, for what their being there proves; a later list only where no earlier one proves anything. */
  readonly lists: readonly (() => Promise<Outcome<readonly M[]>>)[];
}

/**
 * Finds for each node that was missed a machine of the cluster that was there to be seen, in the place that the node was seen in where
 * there is one. One of the batch where it found one there, else one of a list. A node has none where there is none, and where nothing
 * of the batch was missed.
 */
export async function findControls<M extends Machine>(
  resolutions: ReadonlyMap<Node, Resolution<M>>,
  { queries, notOurs, isAlive, locate, lists }: ControlSources<M>,
): Promise<ReadonlyMap<Node, PositiveControl>> {
  const sought = [...resolutions].filter(([node]) => isSought(queries.get(node)));
  const missed = sought.flatMap(([node, resolution]) => (isUnseen(resolution) ? [node] : []));
  const controls = sought.flatMap(([, each]) =>
    each.kind === "machine" && isAlive(each.machine) ? [locate(each.machine)] : [],
  );
  // A list may still show for a moment what was said not to be there; that proves nothing.
  const asked = new Set([...queries.values()].flatMap((query) => ("id" in query ? [query.id] : [])));
  for (const list of lists) {
    if (!missed.some((node) => needsMore(node, controls))) break;
    const listed = await list();
    if (listed.kind === "fault") break;
    for (const machine of listed.value)
      if (!asked.has(machine.id) && isAlive(machine) && notOurs(machine, undefined) === undefined)
        controls.push(locate(machine));
  }
  return new Map(
    missed.flatMap((node) => {
      // One in another place proves nothing; it is told, so that the operator sees where was looked.
      const control = controls.find((each) => compare(node, each) === undefined) ?? controls[0];
      return control === undefined ? [] : [[node, control]];
    }),
  );
}

/** Whether a further list may prove that a node's machine is gone: in an account that is not the node's none does. */
function needsMore(node: Node, controls: readonly PositiveControl[]): boolean {
  const differences = controls.map((control) => compare(node, control));
  if (differences.includes(undefined)) return false;
  return controls.length === 0 || differences.some((difference) => difference?.part === "network");
}

function compare(node: Node, control: PositiveControl) {
  return findDifference(readPlace(node), control);
}

/** How long it takes must not tell a machine of somebody else's from none. */
function isUnseen<M extends Machine>(resolution: Resolution<M>): boolean {
  return (
    resolution.kind === "absent" ||
    (resolution.kind === "fault" &&
      (resolution.fault.code === "Foreign" || resolution.fault.code === "Denied"))
  );
}
