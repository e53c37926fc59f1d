import { isSelected, type Requirement } from "#clouds/hcloud/label-selector.ts";
import type { Server } from "#clouds/hcloud/server.ts";
import type { Fault } from "#clouds/http/outcome.ts";

/** By what a cluster knows its own. */
export interface Ownership {
  /** The network's id; undefined where none is configured. */
  readonly network: string | undefined;
  readonly labelSelector: string | undefined;
  /** As the selector says it; empty where none is configured. */
  readonly requirements: readonly Requirement[];
}

/**
 * What keeps a server from being the cluster's, expected and found; undefined where it is the cluster's. One whose description lacks
 * what would tell is nobody's for now, and not somebody else's.
 */
export function notOurs(
  { network, labelSelector, requirements }: Ownership,
  { id, private_net: attached, labels }: Server,
): Fault | undefined {
  const isTold =
    (network === undefined || attached !== undefined) && (requirements.length === 0 || labels !== undefined);
  if (!isTold) {
    const message = `the description of server ${id} lacks networks or labels, which tell whose it is`;
    return { code: "Unavailable", message };
  }
  const networks = (attached ?? []).map((each) => each.network);
  const faults = [
    ...(network === undefined || networks.includes(network)
      ? []
      : [`expected network ${network}, found ${shown(networks)}`]),
    ...(isSelected(requirements, labels ?? {})
      ? []
      : [
          `expected labels ${labelSelector}, found ${shown(Object.entries(labels ?? {}).map((each) => each.join("=")))}`,
        ]),
  ];
  if (faults.length === 0) return undefined;
  return { code: "Foreign", message: `server ${id} is not the cluster's: ${faults.join("; ")}` };
}

function shown(all: readonly string[]): string {
  return all.slice(0, MAX_SHOWN).join(", ") || "none";
}

const MAX_SHOWN = 5;
