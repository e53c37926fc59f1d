import { HOSTNAME_LABEL } from "#clouds/no-cloud/config.ts";
import { formatIp } from "#core/cidr.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import { type Ip, isSameIp, isUnspecified, parseIp } from "#core/ip.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import { parseProvidedNodeIp } from "#core/node/provided-node-ip.ts";

/** The facts that the configuration adds to a node. */
export interface NoCloudTraits {
  /** Scheme of the provider ID for a node without one; also the account in the instance annotation. */
  readonly scheme: string;
  readonly type?: string | undefined;
  readonly zone?: string | undefined;
  readonly region?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/**
 * Builds the answer for a node without a cloud API: the node is its own machine, which runs while the node
 * exists. Its addresses come from the kubelet, otherwise from its `--node-ip`. Without either, the
 * instance has no addresses, and the node's report says so.
 */
export function buildNoCloudAnswer(
  node: Node,
  traits: NoCloudTraits,
): InstanceAnswer & { readonly kind: "found" } {
  const { scheme, type = "", zone = "", region = "", labels = {} } = traits;
  const providerID = node.spec.providerID || `${scheme}://${node.metadata.name}`;
  const instance: Instance = {
    id: getProviderIdSuffix(providerID, node),
    account: scheme,
    network: "-",
    state: "running",
    providerID,
    ...{ type, zone, region },
    addresses: buildAddresses(node),
    labels: { ...labels },
  };
  return { kind: "found", instance };
}

/** The maximum length of a machine's ID: a longer one would not fit into an annotation. */
const MAX_ID = 253;

/** Returns the last part of a provider ID, of any scheme: it tells a node from a later one of the same name. */
function getProviderIdSuffix(providerID: string, { metadata }: Node): string {
  const id = providerID.slice(providerID.lastIndexOf("/") + 1);
  return id === "" || id.length > MAX_ID ? metadata.name : id;
}

/**
 * Returns the addresses from the kubelet and the missing ones of `--node-ip`: of a dual-stack pair the kubelet
 * reports only the first.
 */
function buildAddresses(node: Node): NodeAddress[] {
  const reported = (node.status.addresses ?? []).map(({ type, address }) => ({ type, address }));
  const isReported = (ip: Ip): boolean => reported.some((each) => isNodeIp(each) && isAt(each, ip));
  const provided = listProvidedIps(node)
    .filter((ip) => !isReported(ip))
    .map((ip) => ({ type: "InternalIP", address: formatIp(ip) }));
  const ips = [...reported.filter(isNodeIp), ...provided];
  if (ips.length === 0) return [];
  const others = reported.filter((each) => !isNodeIp(each));
  return [...ips, ...(others.length > 0 ? others : [{ type: "Hostname", address: getHostname(node) }])];
}

/** `0.0.0.0` and `::` only tell a kubelet which family to detect. */
function listProvidedIps(node: Node): readonly Ip[] {
  const provided = parseProvidedNodeIp(node);
  return provided.kind === "ips" ? provided.ips.filter((ip) => !isUnspecified(ip)) : [];
}

function getHostname({ metadata: { name, labels = {} } }: Node): string {
  return (Object.hasOwn(labels, HOSTNAME_LABEL) ? labels[HOSTNAME_LABEL] : undefined) || name;
}

function isNodeIp({ type }: NodeAddress): boolean {
  return type === "InternalIP" || type === "ExternalIP";
}

function isAt({ address }: NodeAddress, ip: Ip): boolean {
  const parsed = parseIp(address);
  return parsed !== undefined && isSameIp(parsed, ip);
}
