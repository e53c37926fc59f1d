import { buildAddressSet, findFreeAddress, isIn } from "#clouds/addresses/ranges.ts";
import {
  createSharingCheck,
  DHCP_ADDRESS,
  type Holder,
  type Sharer,
} from "#clouds/kubevip/load-balancers/holders.ts";
import {
  canShare,
  isGiven,
  type Pool,
  type PoolData,
  selectPool,
} from "#clouds/kubevip/load-balancers/pool.ts";
import { formatIp } from "#core/cidr.ts";
import { type Ip, parseIp } from "#core/ip.ts";
import type { Service } from "#core/service/service.ts";

/** The parts of a Service that determine its addresses. */
export interface AddressRequest extends Sharer {
  readonly uid: string;
  /** `IPv4`, `IPv6`; empty if the Service sets nothing. */
  readonly ipFamilies: readonly string[];
  readonly ipFamilyPolicy?: string | undefined;
}

/** Why there is no address; codes of `src/core/service/issues.ts`. */
export type NoAddress = "NoPool" | "InvalidPool" | "PoolExhausted" | "PoolLacksFamily";

/** The addresses for a Service, or why it gets none. */
export type Choice =
  | { readonly kind: "chosen"; readonly addresses: readonly string[]; readonly interface?: string }
  | { readonly kind: "none"; readonly code: NoAddress; readonly message: string };

/** Chooses free or shareable addresses for a Service. Pure: equal arguments give equal results. */
export function choose(data: PoolData, wanted: AddressRequest, holders: readonly Holder[]): Choice {
  const found = selectPool(data, wanted.namespace);
  if (found.kind === "none")
    return buildNoAddress("NoPool", `no pool for namespace ${wanted.namespace}, and no global pool`);
  if (found.kind === "unreadable") return buildNoAddress("InvalidPool", found.message);
  const { pool } = found;
  const said = pool.interface ? { interface: pool.interface } : {};
  if (pool.isDhcp) return { kind: "chosen", addresses: [DHCP_ADDRESS], ...said };
  const { tried, needed } = selectFamilies(wanted, pool);
  const lacking = needed.filter((family) => !hasFamily(pool, family));
  if (lacking.length > 0)
    return buildNoAddress(
      "PoolLacksFamily",
      `${pool.key} has no addresses of ${lacking.map((each) => `IPv${each}`).join(", ")}`,
    );
  const others = holders.filter(({ uid }) => uid !== wanted.uid);
  const addresses: string[] = [];
  for (const family of tried) {
    const ip = hasFamily(pool, family) ? selectAddress(data, wanted, pool, family, others) : undefined;
    if (ip !== undefined) addresses.push(formatIp(ip));
    else if (needed.includes(family)) return buildExhausted(pool);
  }
  return addresses.length === 0 ? buildExhausted(pool) : { kind: "chosen", addresses, ...said };
}

/** Whether an address is in a namespace's pool; undefined without a readable pool. */
export function isOfPool(data: PoolData, namespace: string, address: string): boolean | undefined {
  const found = selectPool(data, namespace);
  const ip = parseIp(address);
  if (found.kind !== "pool" || ip === undefined) return undefined;
  return found.pool.isDhcp || found.pool.ranges.some((range) => isIn(ip, range));
}

type Family = Ip["family"];

interface Families {
  /** In the order in which the addresses are written. */
  readonly tried: readonly Family[];
  /** Families that are required. */
  readonly needed: readonly Family[];
}

const FAMILIES: Readonly<Record<string, Family>> = { IPv4: 4, IPv6: 6 };

function selectFamilies({ ipFamilies, ipFamilyPolicy }: AddressRequest, pool: Pool): Families {
  const [first] = ipFamilies.flatMap((each) => FAMILIES[each] ?? []);
  if (ipFamilyPolicy === "RequireDualStack" || ipFamilyPolicy === "PreferDualStack") {
    const tried: readonly Family[] = first === 6 ? [6, 4] : [4, 6];
    return { tried, needed: ipFamilyPolicy === "RequireDualStack" ? tried : [] };
  }
  const only = first ?? (hasFamily(pool, 4) ? 4 : 6);
  return { tried: [only], needed: [only] };
}

function hasFamily({ ranges }: Pool, family: Family): boolean {
  return ranges.some((range) => range.family === family);
}

function selectAddress(
  data: PoolData,
  wanted: AddressRequest,
  pool: Pool,
  family: Family,
  others: readonly Holder[],
): Ip | undefined {
  const isShared = family === 4 && canShare(data, wanted.namespace);
  const shared = isShared ? findSharedAddress(data, wanted, pool, others) : undefined;
  if (shared !== undefined) return shared;
  const ranges = pool.ranges.filter((range) => range.family === family);
  const used = buildAddressSet(others.flatMap(({ addresses }) => addresses));
  return findFreeAddress(ranges, used, { fromEnd: pool.fromEnd, isGiven });
}

/** Finds the lowest address of the pool whose holders all share it with the Service. */
function findSharedAddress(
  data: PoolData,
  wanted: AddressRequest,
  { ranges }: Pool,
  others: readonly Holder[],
): Ip | undefined {
  const share = createSharingCheck(data);
  const addresses = others.flatMap((holder) => holder.addresses.map((address) => ({ address, holder })));
  let lowest: Ip | undefined;
  for (const [address, at] of Map.groupBy(addresses, (each) => each.address)) {
    const ip = parseIp(address);
    if (ip?.family !== 4 || !ranges.some((range) => isIn(ip, range))) continue;
    const isShared = at.every(({ holder }) => share(wanted, holder));
    if (isShared && (lowest === undefined || ip.value < lowest.value)) lowest = ip;
  }
  return lowest;
}

function buildExhausted({ key }: Pool): Choice {
  return buildNoAddress("PoolExhausted", `${key} has no free address`);
}

function buildNoAddress(code: NoAddress, message: string): Choice {
  return { kind: "none", code, message };
}

/** The name of the only action: it gives each waiting Service a different address. */
export const CHOOSE = "ChooseAddresses";

/** Addresses chosen for a Service, to be written on it. */
export interface ChosenAddresses {
  readonly addresses: readonly string[];
  readonly interface?: string | undefined;
}

/** The cluster's pools and the holders of addresses. All Services of a batch share the lists. */
export interface PoolState {
  /** The ConfigMap's data; null if it is missing. */
  readonly data: PoolData | null;
  readonly holders: readonly Holder[];
  /** For this Service, from the action. */
  readonly chosen: ChosenAddresses | null;
}

/** The state for a Service that is removed, which needs no read. */
export const NOTHING_OBSERVED: PoolState = { data: null, holders: [], chosen: null };

/** Extracts the parts of a Service that determine its addresses. */
export function buildAddressRequest({ metadata, spec }: Service): AddressRequest {
  const { uid, namespace } = metadata;
  const { ipFamilies = [], ipFamilyPolicy, ports = [] } = spec;
  return { uid, namespace, ports: ports.map(({ port }) => port), ipFamilies, ipFamilyPolicy };
}
