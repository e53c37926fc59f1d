import { PROVIDED_NODE_IP_ANNOTATION } from "#core/contracts.ts";
import { sortAddressesByType } from "#core/node/addresses.ts";
import type { Node } from "#core/node/node.ts";

/**
 * Returns a text of the fields whose change by others justifies a check of the instance: node IP, provider
 * ID, addresses.
 */
export function fingerprintNode(node: Node): string {
  const nodeIP = node.metadata.annotations?.[PROVIDED_NODE_IP_ANNOTATION] ?? "";
  const addresses = sortAddressesByType(node.status.addresses ?? []).map(
    ({ type, address }) => `${type}=${address}`,
  );
  return [nodeIP, node.spec.providerID ?? "", ...addresses].join(" ");
}
