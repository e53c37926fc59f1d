import { addressSet, firstFree, isIn } from "#clouds/addresses/ranges.ts";
import { type Holder, type Sharer, sharingBy } from "#clouds/kubevip/holders.ts";
import { DHCP_ADDRESS } from "#clouds/kubevip/keys.ts";
import { isGiven, mayShare, type Pool, type PoolData, poolOf } from "#clouds/kubevip/pool.ts";
import { formatIp } from "#core/cidr.ts";
import { type Ip, parseIp } from "#core/ip.ts";

/** What of a Service its addresses depend on. */
export interface Wanted extends Sharer {
  readonly uid: string;
  /** `IPv4`, `IPv6`; empty where the Service says nothing. */
  readonly ipFamilies: readonly string[];
  readonly ipFamilyPolicy?: string | undefined;
}

/** Why there is no address; codes of `core/service/problems.ts`. */
export type NoAddress = "NoPool" | "InvalidPool" | "PoolExhausted" | "PoolLacksFamily";

/** The addresses for a Service, or why it gets none. */
export type Choice =
  | { readonly kind: "chosen"; readonly addresses: readonly string[]; readonly interface?: string }
  | { readonly kind: "none"; readonly code: NoAddress; readonly message: string };

/** Chooses addresses for a Service that nobody else has, or that are shared. Pure; the same for the same arguments. */
export function choose(data: PoolData, wanted: Wanted, holders: readonly Holder[]): Choice {
  const found = poolOf(data, wanted.namespace);
  if (found.kind === "none")
    return none("NoPool", `no pool for namespace ${wanted.namespace}, and none for all`);
  if (found.kind === "unreadable") return none("InvalidPool", found.message);
  const { pool } = found;
  const said = pool.interface ? { interface: pool.interface } : {};
  if (pool.isDhcp) return { kind: "chosen", addresses: [DHCP_ADDRESS], ...said };
  const { tried, needed } = familiesOf(wanted, pool);
  const lacking = needed.filter((family) => !has(pool, family));
  if (lacking.length > 0)
    return none(
      "PoolLacksFamily",
      `${pool.key} has no addresses of ${lacking.map((each) => `IPv${each}`).join(", ")}`,
    );
  const others = holders.filter(({ uid }) => uid !== wanted.uid);
  const addresses: string[] = [];
  for (const family of tried) {
    const ip = has(pool, family) ? addressOf(data, wanted, pool, family, others) : undefined;
    if (ip !== undefined) addresses.push(formatIp(ip));
    else if (needed.includes(family)) return exhausted(pool);
  }
  return addresses.length === 0 ? exhausted(pool) : { kind: "chosen", addresses, ...said };
}

/** Whether an address is of the pool of a namespace; undefined where there is no pool that could be read. */
export function isOfPool(data: PoolData, namespace: string, address: string): boolean | undefined {
  const found = poolOf(data, namespace);
  const ip = parseIp(address);
  if (found.kind !== "pool" || ip === undefined) return undefined;
  return found.pool.isDhcp || found.pool.ranges.some((range) => isIn(ip, range));
}

type Family = Ip["family"];

interface Families {
  /** In the order in which the addresses are written. */
  readonly tried: readonly Family[];
  /** Without which there is none at all. */
  readonly needed: readonly Family[];
}

const FAMILIES: Readonly<Record<string, Family>> = { IPv4: 4, IPv6: 6 };

function familiesOf({ ipFamilies, ipFamilyPolicy }: Wanted, pool: Pool): Families {
  const [first] = ipFamilies.flatMap((each) => FAMILIES[each] ?? []);
  if (ipFamilyPolicy === "RequireDualStack" || ipFamilyPolicy === "PreferDualStack") {
    const tried: readonly Family[] = first === 6 ? [6, 4] : [4, 6];
    return { tried, needed: ipFamilyPolicy === "RequireDualStack" ? tried : [] };
  }
  const only = first ?? (has(pool, 4) ? 4 : 6);
  return { tried: [only], needed: [only] };
}

function has({ ranges }: Pool, family: Family): boolean {
  return ranges.some((range) => range.family === family);
}

function addressOf(
  data: PoolData,
  wanted: Wanted,
  pool: Pool,
  family: Family,
  others: readonly Holder[],
): Ip | undefined {
  const isShared = family === 4 && mayShare(data, wanted.namespace);
  const shared = isShared ? sharedAddress(data, wanted, pool, others) : undefined;
  if (shared !== undefined) return shared;
  const ranges = pool.ranges.filter((range) => range.family === family);
  const used = addressSet(others.flatMap(({ addresses }) => addresses));
  return firstFree(ranges, used, { fromEnd: pool.fromEnd, isGiven });
}

/** The lowest address of the pool that others have all of whom share it with the Service. */
function sharedAddress(
  data: PoolData,
  wanted: Wanted,
  { ranges }: Pool,
  others: readonly Holder[],
): Ip | undefined {
  const share = sharingBy(data);
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

function exhausted({ key }: Pool): Choice {
  return none("PoolExhausted", `${key} has no free address`);
}

function none(code: NoAddress, message: string): Choice {
  return { kind: "none", code, message };
}
