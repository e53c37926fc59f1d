import { buildNoCloudAnswer } from "#clouds/no-cloud/instance.ts";
import { type Distribution, formatKey, type NodeKey, REPEATED_LABELS } from "#clouds/rancher/config.ts";
import { formatIp } from "#core/cidr.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { parseIp } from "#core/ip.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";

/**
 * Builds the answer for a K3s or RKE2 node from what its agent wrote on it. An agent writes nothing while its
 * own cloud controller is disabled, as it must be with ours: addresses are then as without a cloud. An
 * invalid address is the error `InvalidAddress`.
 */
export function buildNodeAnswer(node: Node, distribution: Distribution): InstanceAnswer {
  const answer = buildNoCloudAnswer(node, {
    scheme: distribution,
    type: getLabel(node, REPEATED_LABELS.type) || distribution,
    region: getLabel(node, REPEATED_LABELS.region),
    zone: getLabel(node, REPEATED_LABELS.zone),
  });
  const internal = parseIps(node, distribution, "internal-ip");
  if (internal.kind === "none") return answer;
  const external = parseIps(node, distribution, "external-ip");
  const invalid = [internal, external].find((each) => each.kind === "invalid");
  if (invalid?.kind === "invalid") {
    return {
      kind: "error",
      code: "InvalidAddress",
      message: `node ${node.metadata.name}: ${invalid.message}`,
    };
  }
  const addresses = [
    ...toAddresses(internal, "InternalIP"),
    ...toAddresses(external, "ExternalIP"),
    ...listNames(node, distribution, "internal-dns", "InternalDNS"),
    ...listNames(node, distribution, "external-dns", "ExternalDNS"),
    ...getHostname(node, distribution),
  ];
  return { kind: "found", instance: { ...answer.instance, addresses } };
}

type Ips =
  | { readonly kind: "none" }
  | { readonly kind: "ips"; readonly ips: readonly string[] }
  | { readonly kind: "invalid"; readonly message: string };

/** No node has more of one type, and a tenant may write as many as an annotation holds. */
const MAX_ITEMS = 32;
/** Maximum length of a DNS name. */
const MAX_NAME = 253;
const MAX_SHOWN = 100;

/** Parses the annotation as a list, else the label, which holds one address at most. */
function parseIps(node: Node, distribution: Distribution, name: NodeKey): Ips {
  const key = formatKey(distribution, name);
  const annotation = getAnnotation(node, key).trim();
  const text = annotation === "" ? getLabel(node, key) : annotation;
  if (text === "") return { kind: "none" };
  const items = annotation === "" ? [text] : splitItems(annotation);
  const ips = items.map((item) => parseIp(item));
  const read = ips.filter((ip) => ip !== undefined);
  if (read.length === ips.length && ips.length <= MAX_ITEMS) {
    // Kubernetes rejects a node with duplicate addresses.
    return { kind: "ips", ips: [...new Set(read.map(formatIp))] };
  }
  const quoted = JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
  return { kind: "invalid", message: `${key}: ${quoted} is not a list of at most ${MAX_ITEMS} IP addresses` };
}

function toAddresses(ips: Ips, type: string): NodeAddress[] {
  return ips.kind === "ips" ? ips.ips.map((address) => ({ type, address })) : [];
}

/** Names are not resolved here; invalid ones are left out. */
function listNames(node: Node, distribution: Distribution, name: NodeKey, type: string): NodeAddress[] {
  const items = new Set(splitItems(getAnnotation(node, formatKey(distribution, name))));
  return [...items]
    .filter((address) => address !== "" && address.length <= MAX_NAME)
    .slice(0, MAX_ITEMS)
    .map((address) => ({ type, address }));
}

function getHostname(node: Node, distribution: Distribution): NodeAddress[] {
  const key = formatKey(distribution, "hostname");
  const address = getAnnotation(node, key).trim() || getLabel(node, key);
  return address === "" || address.length > MAX_NAME ? [] : [{ type: "Hostname", address }];
}

/** One item above the limit is enough to detect too many. */
function splitItems(text: string): string[] {
  return text.split(",", MAX_ITEMS + 1).map((item) => item.trim());
}

function getAnnotation({ metadata: { annotations = {} } }: Node, key: string): string {
  return Object.hasOwn(annotations, key) ? (annotations[key] ?? "") : "";
}

function getLabel({ metadata: { labels = {} } }: Node, key: string): string {
  return Object.hasOwn(labels, key) ? (labels[key] ?? "") : "";
}
