import { BlockList, isIP, isIPv6 } from "node:net";
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
    return `"${network}" is not a network; write it as 10.0.0.0/8 or fd00::/8, with commas between several`;
  if (family === 6 && parseIpv6Groups(address) === undefined) return `"${network}" has a zone; leave it out`;
  if (!network.startsWith("!") && NEVER.check(address, getFamily(address)))
    return `"${network}" cannot be allowed: no API server is there`;
  return undefined;
}

/** An IPv4 address embedded in an IPv6 address, and whether the latter is only another notation. */
interface EmbeddedIpv4 {
  readonly address: string;
  readonly isMapped: boolean;
}

/**
 * Returns the IPv4 address that an IPv6 address embeds: mapped (`::ffff:0:0/96`), compatible (`::/96`), NAT64
 * (`64:ff9b::/96` and `64:ff9b:1::/48`) or 6to4 (`2002::/16`). Undefined if it embeds no address.
 */
function findEmbeddedIpv4(address: string): EmbeddedIpv4 | undefined {
  const groups = parseIpv6Groups(address);
  if (groups === undefined) return undefined;
  const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0, last = 0] = groups;
  const startsWithZeros = first + second + third + fourth + fifth === 0;
  const atTheEnd = formatIpv4(seventh, last);
  if (startsWithZeros && sixth === 0xffff) return { address: atTheEnd, isMapped: true };
  // `::` is the unspecified address and `::1` is loopback.
  if (startsWithZeros && sixth === 0 && (seventh > 0 || last > 1))
    return { address: atTheEnd, isMapped: false };
  if (first === 0x64 && second === 0xff9b) return { address: atTheEnd, isMapped: false };
  if (first === 0x2002) return { address: formatIpv4(second, third), isMapped: false };
  return undefined;
}

/** Parses the eight groups of an IPv6 address without a zone; undefined for other texts. */
function parseIpv6Groups(address: string): readonly number[] | undefined {
  if (!isIPv6(address) || address.includes("%")) return undefined;
  const hexadecimal = address.replace(
    /(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/,
    (_, ...bytes: string[]) => {
      const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number);
      return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
    },
  );
  const [head = "", tail] = hexadecimal.split("::");
  const [before, after] = [head, tail ?? ""].map((part) => (part === "" ? [] : part.split(":")));
  const zeros = tail === undefined ? 0 : 8 - (before?.length ?? 0) - (after?.length ?? 0);
  const groups = [...(before ?? []), ...Array.from({ length: zeros }, () => "0"), ...(after ?? [])];
  return groups.map((group) => Number.parseInt(group, 16));
}

function formatIpv4(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
