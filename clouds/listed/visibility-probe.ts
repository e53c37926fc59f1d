import type { Outcome } from "#clouds/http/outcome.ts";
import type { CheckOwnership } from "#clouds/listed/look-up.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import { needsCloud, type Query } from "#clouds/listed/query.ts";
import type { Resolution } from "#clouds/listed/resolve.ts";
import type { VisibilityProbe } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { findDifference, readLocation } from "#core/node-lifecycle/location.ts";

/** Sources of visibility probes. */
export interface ControlSources<M extends Machine> {
  readonly queries: ReadonlyMap<Node, Query>;
  readonly checkOwnership: CheckOwnership<M>;
  /** Whether a machine is not terminated; a terminated one proves nothing. */
  readonly isAlive: (machine: M) => boolean;
  /** Converts a machine to a probe: its id and its place. */
  readonly locate: (machine: M) => VisibilityProbe;
  /**
   * Machines of the account that may serve as probes; a later list is read only if no earlier one has a
   * probe.
   */
  readonly lists: readonly (() => Promise<Outcome<readonly M[]>>)[];
}

/**
 * Finds a visibility probe for each missing node: a visible machine of the cluster, if possible where the
 * node was seen. It uses the batch first, then a list. A node has none if nothing was found or nothing of the
 * batch is missing.
 */
export async function findVisibilityProbes<M extends Machine>(
  resolutions: ReadonlyMap<Node, Resolution<M>>,
  { queries, checkOwnership, isAlive, locate, lists }: ControlSources<M>,
): Promise<ReadonlyMap<Node, VisibilityProbe>> {
  const searched = [...resolutions].filter(([node]) => needsCloud(queries.get(node)));
  const missing = searched.flatMap(([node, resolution]) => (isNotVisible(resolution) ? [node] : []));
  const probes = searched.flatMap(([, each]) =>
    each.kind === "machine" && isAlive(each.machine) ? [locate(each.machine)] : [],
  );
  // A list may briefly show a machine that was reported as missing; that proves nothing.
  const requestedIds = new Set([...queries.values()].flatMap((query) => ("id" in query ? [query.id] : [])));
  for (const list of lists) {
    if (!missing.some((node) => needsMore(node, probes))) break;
    const listed = await list();
    if (listed.kind === "fault") break;
    for (const machine of listed.value)
      if (
        !requestedIds.has(machine.id) &&
        isAlive(machine) &&
        checkOwnership(machine, undefined) === undefined
      )
        probes.push(locate(machine));
  }
  return new Map(
    missing.flatMap((node) => {
      // A machine in another place proves nothing; it is reported so that the operator sees the searched
      // place.
      const control = probes.find((each) => compare(node, each) === undefined) ?? probes[0];
      return control === undefined ? [] : [[node, control]];
    }),
  );
}

/**
 * Whether a further list may prove that a node's machine is gone; none can in an account other than the
 * node's.
 */
function needsMore(node: Node, controls: readonly VisibilityProbe[]): boolean {
  const differences = controls.map((control) => compare(node, control));
  if (differences.includes(undefined)) return false;
  return controls.length === 0 || differences.some((difference) => difference?.part === "network");
}

function compare(node: Node, control: VisibilityProbe) {
  return findDifference(readLocation(node), control);
}

/** The duration must not tell a foreign machine from a missing one. */
function isNotVisible<M extends Machine>(resolution: Resolution<M>): boolean {
  return (
    resolution.kind === "absent" ||
    (resolution.kind === "fault" &&
      (resolution.fault.code === "Foreign" || resolution.fault.code === "Denied"))
  );
}
