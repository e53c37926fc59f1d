import { BlockList, isIP } from "node:net";
import { findEmbeddedIpv4, parseIpv6Groups } from "#config/embedded-ipv4.ts";
import type { RegistryKind } from "#config/registry/registry.ts";
import type { JudgeAddress } from "#kube/client/judged-lookup.ts";

/** The addresses that API servers may have, as the operator configured them. Plain data. */
export interface AddressRules {
  /** Whether the operator wrote the entries, so that an internal address in them is intended. */
  readonly trustsEntries: boolean;
  /** Networks whose internal addresses are allowed, such as `10.0.0.0/8`; a leading `!` forbids a network. */
  readonly networks: readonly string[];
}

/**
 * Returns the address rules for the entries of a registry. The operator wrote a file, so its internal
 * addresses are allowed unless the operator restricts them. In other registries, only the internal addresses
 * that the operator allows are accepted.
 */
export function selectAddressRules(
  registry: RegistryKind,
  networks: readonly string[] | undefined,
): AddressRules {
  return { trustsEntries: registry === "file" && networks === undefined, networks: networks ?? [] };
}

/** Parsed rules, or all faults in their text. */
export type ParsedNetworks =
  | { readonly kind: "networks"; readonly networks: readonly string[] }
  | { readonly kind: "faults"; readonly faults: readonly string[] };

/**
 * Addresses that are never an API server: link-local addresses, the clouds' instance services, and multicast.
 */
const NEVER = buildBlockList(
  "169.254.0.0/16 fe80::/10 fd00:ec2::/32 168.63.129.16 100.100.100.200 192.0.0.192 224.0.0.0/4 255.255.255.255 ff00::/8",
);

/** Addresses of this machine and of private networks. */
const INTERNAL = buildBlockList(
  "0.0.0.0/8 127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 192.0.0.0/24 198.18.0.0/15 240.0.0.0/4 ::/127 fc00::/7 fec0::/10 2001::/32",
);

/** Parses networks separated by commas or spaces. */
export function parseAllowedNetworks(text: string): ParsedNetworks {
  const networks = text.split(/[\s,]+/).filter((each) => each !== "");
  const faults = networks.flatMap((network) => checkNetwork(network) ?? []);
  return faults.length > 0 ? { kind: "faults", faults } : { kind: "networks", networks };
}

/**
 * Returns a function that judges addresses by parsed rules. An IPv4 address counts the same when an IPv6
 * address embeds it.
 */
export function createAddressJudge({ trustsEntries, networks }: AddressRules): JudgeAddress {
  const isDenied = (network: string): boolean => network.startsWith("!");
  const denied = buildBlockList(...networks.filter(isDenied).map((network) => network.slice(1)));
  const allowed = buildBlockList(...networks.filter((network) => !isDenied(network)));
  return (address) => {
    const forms = listAddressForms(address);
    const isIn = (list: BlockList): boolean => forms.some((form) => list.check(form, getFamily(form)));
    if (isIn(NEVER)) return `${address} is link-local, or a cloud's own service; no API server is there`;
    if (isIn(denied)) return `${address} is in a network that --allowed-networks excludes`;
    if (trustsEntries || !isIn(INTERNAL)) return undefined;
    // Each internal form of the address must be allowed.
    const isAllowed = forms.every(
      (form) => allowed.check(form, getFamily(form)) || !INTERNAL.check(form, getFamily(form)),
    );
    return isAllowed ? undefined : `${address} is internal, and in no network of --allowed-networks`;
  };
}

function listAddressForms(address: string): readonly string[] {
  const plain = address.replace(/%.*$/s, "");
  const embedded = findEmbeddedIpv4(plain);
  if (embedded === undefined) return [plain];
  // A mapped IPv6 address is only another notation of the IPv4 address.
  return embedded.isMapped ? [embedded.address] : [plain, embedded.address];
}

function getFamily(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

function buildBlockList(...texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of texts.flatMap((text) => text.split(" "))) {
    const [address = "", bits] = network.split("/");
    if (bits === undefined) list.addAddress(address, getFamily(address));
    else list.addSubnet(address, Number(bits), getFamily(address));
  }
  return list;
}

function checkNetwork(network: string): string | undefined {
  const [, address = "", bits] = /^!?([^/]+)(?:\/(\d{1,3}))?$/.exec(network) ?? [];
  const family = isIP(address);
  if (family === 0 || Number(bits ?? 0) > (family === 4 ? 32 : 128))
    return `"${network}" is no network; write it as 10.0.0.0/8 or fd00::/8, with commas between several`;
  if (family === 6 && parseIpv6Groups(address) === undefined) return `"${network}" has a zone; leave it out`;
  if (!network.startsWith("!") && NEVER.check(address, getFamily(address)))
    return `"${network}" cannot be allowed: no API server is there`;
  return undefined;
}
