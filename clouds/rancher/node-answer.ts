import { noCloudAnswer } from "#clouds/no-cloud/instance.ts";
import { type Distribution, keyOf, type NodeKey, REPEATED_LABELS } from "#clouds/rancher/node-keys.ts";
import { formatIp } from "#core/cidr.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { parseIp } from "#core/ip.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";

/**
 * The answer for a node of K3s or RKE2 by what its agent wrote on it. An agent writes nothing while its own cloud controller is
 * disabled, as it is beside ours: then addresses are as without a cloud. What is there and is no address is the error `InvalidAddress`.
 */
export function nodeAnswer(node: Node, distribution: Distribution): InstanceAnswer {
  const answer = noCloudAnswer(node, {
    scheme: distribution,
    type: labelOf(node, REPEATED_LABELS.type) || distribution,
    region: labelOf(node, REPEATED_LABELS.region),
    zone: labelOf(node, REPEATED_LABELS.zone),
  });
  const internal = ipsOf(node, distribution, "internal-ip");
  if (internal.kind === "none") return answer;
  const external = ipsOf(node, distribution, "external-ip");
  const wrong = [internal, external].find((each) => each.kind === "invalid");
  if (wrong?.kind === "invalid") {
    return { kind: "error", code: "InvalidAddress", message: `node ${node.metadata.name}: ${wrong.message}` };
  }
  const addresses = [
    ...addressesOf(internal, "InternalIP"),
    ...addressesOf(external, "ExternalIP"),
    ...namesOf(node, distribution, "internal-dns", "InternalDNS"),
    ...namesOf(node, distribution, "external-dns", "ExternalDNS"),
    ...hostnameOf(node, distribution),
  ];
  return { kind: "found", instance: { ...answer.instance, addresses } };
}

type Ips =
  | { readonly kind: "none" }
  | { readonly kind: "ips"; readonly ips: readonly string[] }
  | { readonly kind: "invalid"; readonly message: string };

/** No node has more of one kind, and a tenant may write as many as an annotation holds. */
const MAX_ITEMS = 32;
/** As long as a DNS name may be. */
const MAX_NAME = 253;
const MAX_SHOWN = 100;

/** The annotation as a list; else the label, which can be one address alone. */
function ipsOf(node: Node, distribution: Distribution, name: NodeKey): Ips {
  const key = keyOf(distribution, name);
  const annotation = annotationOf(node, key).trim();
  const text = annotation === "" ? labelOf(node, key) : annotation;
  if (text === "") return { kind: "none" };
  const items = annotation === "" ? [text] : itemsOf(annotation);
  const ips = items.map((item) => parseIp(item));
  const read = ips.filter((ip) => ip !== undefined);
  if (read.length === ips.length && ips.length <= MAX_ITEMS) {
    // Kubernetes refuses a node that says the same twice.
    return { kind: "ips", ips: [...new Set(read.map(formatIp))] };
  }
  const shown = JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
  return { kind: "invalid", message: `${key}: ${shown} is no list of at most ${MAX_ITEMS} IP addresses` };
}

function addressesOf(ips: Ips, type: string): NodeAddress[] {
  return ips.kind === "ips" ? ips.ips.map((address) => ({ type, address })) : [];
}

/** Names are not resolved by anybody here; one that can be none is left out. */
function namesOf(node: Node, distribution: Distribution, name: NodeKey, type: string): NodeAddress[] {
  const items = new Set(itemsOf(annotationOf(node, keyOf(distribution, name))));
  return [...items]
    .filter((address) => address !== "" && address.length <= MAX_NAME)
    .slice(0, MAX_ITEMS)
    .map((address) => ({ type, address }));
}

function hostnameOf(node: Node, distribution: Distribution): NodeAddress[] {
  const key = keyOf(distribution, "hostname");
  const address = annotationOf(node, key).trim() || labelOf(node, key);
  return address === "" || address.length > MAX_NAME ? [] : [{ type: "Hostname", address }];
}

/** One item more than is allowed suffices to see that there are too many. */
function itemsOf(text: string): string[] {
  return text.split(",", MAX_ITEMS + 1).map((item) => item.trim());
}

function annotationOf({ metadata: { annotations = {} } }: Node, key: string): string {
  return Object.hasOwn(annotations, key) ? (annotations[key] ?? "") : "";
}

function labelOf({ metadata: { labels = {} } }: Node, key: string): string {
  return Object.hasOwn(labels, key) ? (labels[key] ?? "") : "";
}
