import { BlockList, isIP } from "node:net";
import { embeddedIpv4, groupsOf } from "#config/embedded-ipv4.ts";
import type { HomeKind } from "#config/home/home.ts";
import type { JudgeAddress } from "#kube/client/judged-lookup.ts";

/** Where API servers may be, as an operator has said; plain data. */
export interface AddressRules {
  /** Whether entries are the operator's own words, so that an internal address in them is meant. */
  readonly trustsEntries: boolean;
  /** Networks in which internal addresses may be connected to, `10.0.0.0/8`; with `!` before it, in which none may be. */
  readonly networks: readonly string[];
}

/**
 * The rules for the entries of a home. A file is the operator's own, and names internal addresses because they are meant, unless he has
 * said which; where clusters are written down by others as well, internal addresses are those that he has allowed.
 */
export function rulesFor(home: HomeKind, networks: readonly string[] | undefined): AddressRules {
  return { trustsEntries: home === "file" && networks === undefined, networks: networks ?? [] };
}

/** Rules as they are read from text, or all that is wrong with it. */
export type ParsedNetworks =
  | { readonly kind: "networks"; readonly networks: readonly string[] }
  | { readonly kind: "faults"; readonly faults: readonly string[] };

/** What no API server of anybody's is behind: link-local addresses, the clouds' services for an instance itself, many at once. */
const NEVER = networksOf(
  "169.254.0.0/16 fe80::/10 fd00:ec2::/32 168.63.129.16 100.100.100.200 192.0.0.192 224.0.0.0/4 255.255.255.255 ff00::/8",
);

/** This machine, and networks that are not of the whole world. */
const INTERNAL = networksOf(
  "0.0.0.0/8 127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 192.0.0.0/24 198.18.0.0/15 240.0.0.0/4 ::/127 fc00::/7 fec0::/10 2001::/32",
);

/** Reads networks with commas or spaces between them. */
export function parseAllowedNetworks(text: string): ParsedNetworks {
  const networks = text.split(/[\s,]+/).filter((each) => each !== "");
  const faults = networks.flatMap((network) => faultOf(network) ?? []);
  return faults.length > 0 ? { kind: "faults", faults } : { kind: "networks", networks };
}

/** Judges addresses by rules whose networks were parsed. An IPv4 address is the same one in whatever IPv6 address carries it. */
export function judgeBy({ trustsEntries, networks }: AddressRules): JudgeAddress {
  const isDenied = (network: string): boolean => network.startsWith("!");
  const denied = networksOf(...networks.filter(isDenied).map((network) => network.slice(1)));
  const allowed = networksOf(...networks.filter((network) => !isDenied(network)));
  return (address) => {
    const forms = formsOf(address);
    const isIn = (list: BlockList): boolean => forms.some((form) => list.check(form, familyOf(form)));
    if (isIn(NEVER)) return `${address} is link-local, or a cloud's own service; no API server is there`;
    if (isIn(denied)) return `${address} is in a network that --allowed-networks excludes`;
    if (trustsEntries || !isIn(INTERNAL)) return undefined;
    // Every form of it has to be allowed that is internal.
    const isAllowed = forms.every(
      (form) => allowed.check(form, familyOf(form)) || !INTERNAL.check(form, familyOf(form)),
    );
    return isAllowed ? undefined : `${address} is internal, and in no network of --allowed-networks`;
  };
}

function formsOf(address: string): readonly string[] {
  const plain = address.replace(/%.*$/s, "");
  const embedded = embeddedIpv4(plain);
  if (embedded === undefined) return [plain];
  // An IPv4 address that is merely written as IPv6 is the IPv4 address.
  return embedded.isMapped ? [embedded.address] : [plain, embedded.address];
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

function networksOf(...texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of texts.flatMap((text) => text.split(" "))) {
    const [address = "", bits] = network.split("/");
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return list;
}

function faultOf(network: string): string | undefined {
  const [, address = "", bits] = /^!?([^/]+)(?:\/(\d{1,3}))?$/.exec(network) ?? [];
  const family = isIP(address);
  if (family === 0 || Number(bits ?? 0) > (family === 4 ? 32 : 128))
    return `"${network}" is no network; write it as 10.0.0.0/8 or fd00::/8, with commas between several`;
  if (family === 6 && groupsOf(address) === undefined) return `"${network}" has a zone; leave it out`;
  if (!network.startsWith("!") && NEVER.check(address, familyOf(address)))
    return `"${network}" cannot be allowed: no API server is there`;
  return undefined;
}
