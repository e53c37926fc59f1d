import { type AddressRange, innerRangeOf, rangeOf } from "#clouds/addresses/ranges.ts";
import { parseCidr } from "#core/cidr.ts";
import { goBoolean } from "#core/go-boolean.ts";
import { type Ip, parseIp } from "#core/ip.ts";
import { shown } from "#core/shown-text.ts";

/** The data of the ConfigMap with the pools. */
export type PoolData = Readonly<Record<string, string>>;

/** The addresses that Services of a namespace get. */
export interface Pool {
  /** The key of the ConfigMap that it stands under. */
  readonly key: string;
  readonly ranges: readonly AddressRange[];
  /** The address comes by DHCP. */
  readonly isDhcp: boolean;
  readonly fromEnd: boolean;
  /** What kube-vip is to announce on, where the ConfigMap says so. */
  readonly interface: string | undefined;
}

/** A pool, or that there is none, or that what stands there cannot be read. */
export type FoundPool =
  | { readonly kind: "pool"; readonly pool: Pool }
  | { readonly kind: "none" }
  | { readonly kind: "unreadable"; readonly message: string };

/** The pool of a namespace: its own network, that of all, its own ranges, those of all; the first that is there. */
export function poolOf(data: PoolData, namespace: string): FoundPool {
  const keys = [`cidr-${namespace}`, "cidr-global", `range-${namespace}`, "range-global"];
  const key = keys.find((each) => Object.hasOwn(data, each));
  if (key === undefined) return { kind: "none" };
  const value = data[key] ?? "";
  const isDhcp = value.trim() === DHCP;
  const ranges = isDhcp ? [] : rangesIn(key, value, data["skip-end-ips-in-cidr"]?.trim() === "true");
  if (typeof ranges === "string") return { kind: "unreadable", message: `${key}: ${ranges}` };
  const pool = {
    ...{ key, ranges, isDhcp },
    fromEnd: data["search-order"]?.trim() === "desc",
    interface: ofNamespace(data, "interface", namespace),
  };
  return { kind: "pool", pool };
}

/** Whether Services of a namespace may share addresses. */
export function mayShare(data: PoolData, namespace: string): boolean {
  return goBoolean(ofNamespace(data, "allow-share", namespace) ?? "") === true;
}

/** An IPv4 address that ends in 0 or 255 is given to nobody. */
export function isGiven({ family, value }: Ip): boolean {
  const last = value & 0xffn;
  return family === 6 || (last !== 0n && last !== 255n);
}

const DHCP = "0.0.0.0/32";

/** More are somebody's mistake: each of them is looked at for each address. */
const MAX_PARTS = 1_000;

/** Characters of a part that is none, in what is said of it for each Service. */
const MAX_SHOWN = 64;

function ofNamespace(data: PoolData, what: string, namespace: string): string | undefined {
  const key = [`${what}-${namespace}`, `${what}-global`].find((each) => Object.hasOwn(data, each));
  return key === undefined ? undefined : data[key]?.trim();
}

function rangesIn(key: string, value: string, skipsEnds: boolean): AddressRange[] | string {
  const parts = value.split(",").map((part) => part.trim());
  if (parts.length > MAX_PARTS) return `has more than ${MAX_PARTS} parts`;
  // What stands under a network's key and has no length is read as ranges.
  const areNetworks = key.startsWith("cidr-") && value.includes("/");
  const ranges: AddressRange[] = [];
  for (const part of parts) {
    const range = areNetworks ? network(part, skipsEnds) : span(part);
    if (range === undefined)
      return `"${shown(part, MAX_SHOWN)}" is ${areNetworks ? "no network" : "no range FIRST-LAST"}`;
    ranges.push(range);
  }
  return ranges;
}

function network(text: string, skipsEnds: boolean): AddressRange | undefined {
  const cidr = parseCidr(text);
  if (cidr === undefined) return undefined;
  return skipsEnds && cidr.family === 4 ? innerRangeOf(cidr) : rangeOf(cidr);
}

function span(text: string): AddressRange | undefined {
  const [first, last, ...more] = text.split("-").map((part) => parseIp(part.trim()));
  if (first === undefined || last === undefined || more.length > 0) return undefined;
  if (first.family !== last.family || first.value > last.value) return undefined;
  return { family: first.family, first: first.value, last: last.value };
}
