import { PROVIDED_NODE_IP_ANNOTATION } from "#core/contracts.ts";
import type { TestOperation } from "#core/decision.ts";
import { type Ip, isUnspecified, parseIp } from "#core/ip.ts";
import { pointer, test } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";

/** What a kubelet's --node-ip says: nothing, one address or a dual-stack pair in its order, or something that is neither. */
export type ProvidedNodeIp =
  | { readonly kind: "none" }
  | { readonly kind: "ips"; readonly ips: readonly Ip[]; readonly annotation: string }
  | { readonly kind: "invalid"; readonly message: string };

/**
 * Reads the provided-node-ip annotation; one that is there but empty is invalid, not absent. What is said about it quotes
 * it as `key: "value"`, cut short: a tenant writes it.
 */
export function providedNodeIp(node: Node): ProvidedNodeIp {
  const text = annotationOf(node);
  if (text === undefined) return { kind: "none" };
  // One part more than is allowed suffices to see that there are too many.
  const ips = text.split(",", 3).map(parseIp);
  const read = ips.filter((ip) => ip !== undefined);
  const fault = read.length < ips.length ? "not an IP address" : faultOf(read);
  if (fault === undefined) return { kind: "ips", ips: read, annotation: quoted(text) };
  return { kind: "invalid", message: `annotation ${quoted(text)} is unusable: ${fault}` };
}

/** A test that the annotation is still as it was read. */
export function providedNodeIpUnchanged(node: Node): TestOperation {
  if (node.metadata.annotations === undefined) return test(pointer("metadata", "annotations"), null);
  return test(pointer("metadata", "annotations", PROVIDED_NODE_IP_ANNOTATION), annotationOf(node) ?? null);
}

const MAX_QUOTED = 100;

function annotationOf(node: Node): string | undefined {
  return node.metadata.annotations?.[PROVIDED_NODE_IP_ANNOTATION];
}

function quoted(text: string): string {
  const shown = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return `${PROVIDED_NODE_IP_ANNOTATION}: ${JSON.stringify(shown)}`;
}

function faultOf(ips: readonly Ip[]): string | undefined {
  if (ips.length === 1) return undefined;
  if (ips.length > 2 || ips[0]?.family === ips[1]?.family)
    return "it must be a single IP or a dual-stack pair of IPs";
  return ips.some(isUnspecified) ? "no address of a pair may be unspecified" : undefined;
}
