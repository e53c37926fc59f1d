import { type AddressRange, buildInnerRange, buildRange } from "#clouds/addresses/ranges.ts";
import { parseCidr } from "#core/cidr.ts";
import { parseGoBoolean } from "#core/flags.ts";
import { type Ip, parseIp } from "#core/ip.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The data of the ConfigMap with the pools. */
export type PoolData = Readonly<Record<string, string>>;

/** The addresses for Services of a namespace. */
export interface Pool {
  /** Its key in the ConfigMap. */
  readonly key: string;
  readonly ranges: readonly AddressRange[];
  /** Whether the address comes by DHCP. */
  readonly isDhcp: boolean;
  readonly fromEnd: boolean;
  /** The interface on which kube-vip announces, if the ConfigMap sets it. */
  readonly interface: string | undefined;
}

/** A pool, or that it is missing or unreadable. */
export type FoundPool =
  | { readonly kind: "pool"; readonly pool: Pool }
  | { readonly kind: "none" }
  | { readonly kind: "unreadable"; readonly message: string };

/**
 * Selects the pool of a namespace, the first that exists: its own network, the global network, its own
 * ranges, the global ranges.
 */
export function selectPool(data: PoolData, namespace: string): FoundPool {
  const keys = [`cidr-${namespace}`, "cidr-global", `range-${namespace}`, "range-global"];
  const key = keys.find((each) => Object.hasOwn(data, each));
  if (key === undefined) return { kind: "none" };
  const value = data[key] ?? "";
  const isDhcp = value.trim() === DHCP;
  const ranges = isDhcp ? [] : parseRanges(key, value, data["skip-end-ips-in-cidr"]?.trim() === "true");
  if (typeof ranges === "string") return { kind: "unreadable", message: `${key}: ${ranges}` };
  const pool = {
    ...{ key, ranges, isDhcp },
    fromEnd: data["search-order"]?.trim() === "desc",
    interface: getNamespaceValue(data, "interface", namespace),
  };
  return { kind: "pool", pool };
}

/** Whether Services of a namespace may share addresses. */
export function canShare(data: PoolData, namespace: string): boolean {
  return parseGoBoolean(getNamespaceValue(data, "allow-share", namespace) ?? "") === true;
}

/** Whether an address may be assigned; IPv4 addresses that end in 0 or 255 never are. */
export function isGiven({ family, value }: Ip): boolean {
  const last = value & 0xffn;
  return family === 6 || (last !== 0n && last !== 255n);
}

const DHCP = "0.0.0.0/32";

/** Maximum parts of a pool: more are a mistake, and each is checked for each address. */
const MAX_PARTS = 1_000;

/** Maximum characters of an invalid part in the message for each Service. */
const MAX_SHOWN = 64;

function getNamespaceValue(data: PoolData, what: string, namespace: string): string | undefined {
  const key = [`${what}-${namespace}`, `${what}-global`].find((each) => Object.hasOwn(data, each));
  return key === undefined ? undefined : data[key]?.trim();
}

function parseRanges(key: string, value: string, skipsEnds: boolean): AddressRange[] | string {
  const parts = value.split(",").map((part) => part.trim());
  if (parts.length > MAX_PARTS) return `has more than ${MAX_PARTS} parts`;
  // A value under a network's key without a prefix length is read as ranges.
  const areNetworks = key.startsWith("cidr-") && value.includes("/");
  const ranges: AddressRange[] = [];
  for (const part of parts) {
    const range = areNetworks ? parseNetwork(part, skipsEnds) : parseSpan(part);
    if (range === undefined)
      return `"${sanitizeText(part, MAX_SHOWN)}" is ${areNetworks ? "not a network" : "not a range FIRST-LAST"}`;
    ranges.push(range);
  }
  return ranges;
}

function parseNetwork(text: string, skipsEnds: boolean): AddressRange | undefined {
  const cidr = parseCidr(text);
  if (cidr === undefined) return undefined;
  return skipsEnds && cidr.family === 4 ? buildInnerRange(cidr) : buildRange(cidr);
}

function parseSpan(text: string): AddressRange | undefined {
  const [first, last, ...more] = text.split("-").map((part) => parseIp(part.trim()));
  if (first === undefined || last === undefined || more.length > 0) return undefined;
  if (first.family !== last.family || first.value > last.value) return undefined;
  return { family: first.family, first: first.value, last: last.value };
}
