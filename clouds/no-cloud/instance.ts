import { HOSTNAME_LABEL } from "#clouds/no-cloud/kind.ts";
import { formatIp } from "#core/cidr.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import { type Ip, isSameIp, isUnspecified, parseIp } from "#core/ip.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import { providedNodeIp } from "#core/node/provided-node-ip.ts";

/** What is said of a node that the node itself does not say. */
export interface NoCloudTraits {
  /** Of the provider ID that a node gets which has none; also the account in what says whose instance a node is. */
  readonly scheme: string;
  readonly type?: string | undefined;
  readonly zone?: string | undefined;
  readonly region?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/**
 * The answer for a node without a cloud that could be asked: the node is its own machine, which is there and runs for as long as the
 * node is there. Its addresses are those that the kubelet reports, else those of its `--node-ip`; where there are none of either the
 * instance has none, and the node is told so.
 */
export function noCloudAnswer(
  node: Node,
  traits: NoCloudTraits,
): InstanceAnswer & { readonly kind: "found" } {
  const { scheme, type = "", zone = "", region = "", labels = {} } = traits;
  const providerID = node.spec.providerID || `${scheme}://${node.metadata.name}`;
  const instance: Instance = {
    id: idIn(providerID, node),
    account: scheme,
    network: "-",
    state: "running",
    providerID,
    ...{ type, zone, region },
    addresses: addressesOf(node),
    labels: { ...labels },
  };
  return { kind: "found", instance };
}

/** No machine's id is longer, and what is longer would not go into an annotation. */
const MAX_ID = 253;

/** What a provider ID ends with, whoever gave it: by that the node is known as the one that was seen. */
function idIn(providerID: string, { metadata }: Node): string {
  const id = providerID.slice(providerID.lastIndexOf("/") + 1);
  return id === "" || id.length > MAX_ID ? metadata.name : id;
}

/** As the kubelet reports them, and with them what else it was told to use: of a dual-stack pair it reports the first alone. */
function addressesOf(node: Node): NodeAddress[] {
  const reported = (node.status.addresses ?? []).map(({ type, address }) => ({ type, address }));
  const isReported = (ip: Ip): boolean => reported.some((each) => isNodeIp(each) && isAt(each, ip));
  const provided = providedIps(node)
    .filter((ip) => !isReported(ip))
    .map((ip) => ({ type: "InternalIP", address: formatIp(ip) }));
  const ips = [...reported.filter(isNodeIp), ...provided];
  if (ips.length === 0) return [];
  const others = reported.filter((each) => !isNodeIp(each));
  return [...ips, ...(others.length > 0 ? others : [{ type: "Hostname", address: hostnameOf(node) }])];
}

/** `0.0.0.0` and `::` tell a kubelet which family to look for by itself. */
function providedIps(node: Node): readonly Ip[] {
  const provided = providedNodeIp(node);
  return provided.kind === "ips" ? provided.ips.filter((ip) => !isUnspecified(ip)) : [];
}

function hostnameOf({ metadata: { name, labels = {} } }: Node): string {
  return (Object.hasOwn(labels, HOSTNAME_LABEL) ? labels[HOSTNAME_LABEL] : undefined) || name;
}

function isNodeIp({ type }: NodeAddress): boolean {
  return type === "InternalIP" || type === "ExternalIP";
}

function isAt({ address }: NodeAddress, ip: Ip): boolean {
  const parsed = parseIp(address);
  return parsed !== undefined && isSameIp(parsed, ip);
}
