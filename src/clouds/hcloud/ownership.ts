import { isSelected, type Requirement } from "#clouds/hcloud/label-selector.ts";
import type { Server } from "#clouds/hcloud/server.ts";
import type { Fault } from "#clouds/http/outcome.ts";

/** Criteria by which a cluster recognizes its servers. */
export interface Ownership {
  /** The network's id; undefined if none is configured. */
  readonly network: string | undefined;
  readonly labelSelector: string | undefined;
  /** The selector's requirements; empty if none is configured. */
  readonly requirements: readonly Requirement[];
}

/**
 * Returns the expected and the found value that prove a server foreign; undefined if it belongs to the
 * cluster. A server whose description lacks a needed field is unproven, not foreign.
 */
export function checkOwnership(
  { network, labelSelector, requirements }: Ownership,
  { id, private_net: attached, labels }: Server,
): Fault | undefined {
  const hasFacts =
    (network === undefined || attached !== undefined) && (requirements.length === 0 || labels !== undefined);
  if (!hasFacts) {
    const message = `the description of server ${id} lacks networks or labels, which show its owner`;
    return { code: "Unavailable", message };
  }
  const networks = (attached ?? []).map((each) => each.network);
  const faults = [
    ...(network === undefined || networks.includes(network)
      ? []
      : [`expected network ${network}, found ${formatList(networks)}`]),
    ...(isSelected(requirements, labels ?? {})
      ? []
      : [
          `expected labels ${labelSelector}, found ${formatList(Object.entries(labels ?? {}).map((each) => each.join("=")))}`,
        ]),
  ];
  if (faults.length === 0) return undefined;
  return { code: "Foreign", message: `server ${id} is not the cluster's: ${faults.join("; ")}` };
}

function formatList(all: readonly string[]): string {
  return all.slice(0, MAX_SHOWN).join(", ") || "none";
}

const MAX_SHOWN = 5;
