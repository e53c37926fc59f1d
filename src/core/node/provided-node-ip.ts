import { PROVIDED_NODE_IP_ANNOTATION } from "#core/contracts.ts";
import type { TestOperation } from "#core/decision.ts";
import { type Ip, isUnspecified, parseIp } from "#core/ip.ts";
import { formatPointer, test } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";

/** The value of a kubelet's --node-ip: absent, one address, a dual-stack pair in order, or invalid. */
export type ProvidedNodeIp =
  | { readonly kind: "none" }
  | { readonly kind: "ips"; readonly ips: readonly Ip[]; readonly annotation: string }
  | { readonly kind: "invalid"; readonly message: string };

/**
 * Parses the provided-node-ip annotation; an empty one is invalid, not absent. Messages quote it as `key:
 * "value"`, truncated, because a tenant writes it.
 */
export function parseProvidedNodeIp(node: Node): ProvidedNodeIp {
  const text = getProvidedNodeIp(node);
  if (text === undefined) return { kind: "none" };
  // One part more than allowed is enough to detect too many.
  const ips = text.split(",", 3).map(parseIp);
  const read = ips.filter((ip) => ip !== undefined);
  const fault = read.length < ips.length ? "not an IP address" : checkIpPair(read);
  if (fault === undefined) return { kind: "ips", ips: read, annotation: quoteText(text) };
  return { kind: "invalid", message: `annotation ${quoteText(text)} is unusable: ${fault}` };
}

/** Returns a test that the annotation is unchanged. */
export function testProvidedNodeIpUnchanged(node: Node): TestOperation {
  if (node.metadata.annotations === undefined) return test(formatPointer("metadata", "annotations"), null);
  return test(
    formatPointer("metadata", "annotations", PROVIDED_NODE_IP_ANNOTATION),
    getProvidedNodeIp(node) ?? null,
  );
}

const MAX_QUOTED = 100;

function getProvidedNodeIp(node: Node): string | undefined {
  return node.metadata.annotations?.[PROVIDED_NODE_IP_ANNOTATION];
}

function quoteText(text: string): string {
  const quoted = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return `${PROVIDED_NODE_IP_ANNOTATION}: ${JSON.stringify(quoted)}`;
}

function checkIpPair(ips: readonly Ip[]): string | undefined {
  if (ips.length === 1) return undefined;
  if (ips.length > 2 || ips[0]?.family === ips[1]?.family)
    return "it must be a single IP or a dual-stack pair of IPs";
  return ips.some(isUnspecified) ? "no address of a pair may be unspecified" : undefined;
}
