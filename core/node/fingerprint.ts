import { PROVIDED_NODE_IP_ANNOTATION } from "#core/contracts.ts";
import { byType } from "#core/node/addresses.ts";
import type { Node } from "#core/node/node.ts";

/** What others may change of an initialized node so that a look at its instance is worth it: node IP, provider ID, addresses. */
export function fingerprintOf(node: Node): string {
  const nodeIP = node.metadata.annotations?.[PROVIDED_NODE_IP_ANNOTATION] ?? "";
  const addresses = byType(node.status.addresses ?? []).map(({ type, address }) => `${type}=${address}`);
  return [nodeIP, node.spec.providerID ?? "", ...addresses].join(" ");
}
