import type { Holding } from "#core/service/holdings.ts";
import type { LoadBalancerModel, LoadBalancerQuestion } from "#core/service/model.ts";
import { getMaxLoadBalancers, getMaxPorts, type LoadBalancerLimits } from "#core/service/settings.ts";
import type { Settings } from "#core/settings.ts";

/**
 * The reservations for load balancers of one cluster. Its quota is `loadBalancers.max` load balancers, with
 * `loadBalancers.maxPorts` listeners in total. The state counts the load balancers that the cloud shows with the
 * cluster's tag, and those that this process has granted since. It counts nothing that a tenant writes on Services.
 *
 * A function remembers its last listing within its own process, and sees other processes' work only in the
 * cloud. So it creates load balancers only if its listing, such as the audit's, is at most ten minutes
 * old. On a listing younger than two seconds, a process grants at most half of the free amount: a relay runs two
 * Service invocations of a cluster at a time. On an older listing it grants at most a sixteenth, because many
 * processes may exist. It lists again if a request is still open. The first Service on a new listing may take
 * all free listeners.
 */
export interface ReservationState {
  /** When the listing began, in milliseconds of the state owner's clock. */
  readonly atMs: number;
  /** The amounts that the listing showed, and earlier grants that it may not show yet. */
  readonly inUse: Amounts;
  /** The grants and their times, by Service uid. */
  readonly grants: ReadonlyMap<string, Grant>;
  /**
   * The account's quotas as last read; undefined before the first request, empty if the cloud does not report
   * them.
   */
  readonly quotas?: Amounts | undefined;
}

/** Amounts of limited resources, by `LOAD_BALANCERS_KEY`, `LISTENERS_KEY`, or the `kind` of a holding. */
export type Amounts = Readonly<Record<string, number>>;

/** The key under which `Amounts` counts load balancers of all kinds. */
export const LOAD_BALANCERS_KEY = "load balancers";

/** The key under which `Amounts` counts listeners of all load balancers. */
export const LISTENERS_KEY = "listeners";

/** The amounts granted to one Service. */
interface Grant {
  readonly atMs: number;
  readonly amounts: Amounts;
}

/** A request for a Service that needs a resource which the cloud does not show. */
export interface ReservationRequest {
  readonly uid: string;
  readonly created: string;
  /** The number of each limited resource that the Service needs. */
  readonly amounts: Amounts;
}

/** The result of reservation requests. A request without a grant is sent again. */
export type Reservations =
  | {
      readonly kind: "counted";
      readonly granted: ReadonlySet<string>;
      /**
       * Requests that exceed a limit, by uid. Requests that are neither granted nor rejected wait for the next
       * listing.
       */
      readonly rejected: ReadonlyMap<string, ReachedLimit>;
    }
  /** The listing failed. */
  | {
      readonly kind: "unknown";
      readonly code: "Throttled" | "Unavailable" | "Aborted" | "Denied";
      readonly message: string;
    }
  /** This cloud cannot list load balancers: only Services are counted. */
  | { readonly kind: "uncounted" };

/** A limit that leaves no room for a Service. */
export interface ReachedLimit {
  /** The limited resource: a key of `Amounts`. */
  readonly name: string;
  readonly limit: number;
}

/** How long a listing is valid. */
const LISTING_LIFETIME_MS = 600_000;
/**
 * A listing younger than this is fresh: it is not repeated, and grants up to half of the free amount.
 */
const FRESH_LISTING_MS = 2_000;
/** The minimum time between two listings if every open request exceeds a limit. */
const FULL_RETRY_MS = 10_000;
/** The longest time until a cloud's listing shows what was created. */
const VISIBILITY_MS = 60_000;

/** Counts what a listing shows. Earlier grants that it may not show yet stay reserved. */
export function listReservations(
  holdings: readonly Holding[],
  previous: ReservationState | undefined,
  atMs: number,
): ReservationState {
  const balancers = holdings.filter(isLoadBalancer);
  const grants = new Map<string, Grant>();
  for (const [uid, { atMs: grantedMs, amounts }] of previous?.grants ?? []) {
    if (!isWithin(atMs - grantedMs, VISIBILITY_MS)) continue;
    const hidden = countHidden(
      amounts,
      balancers.find((each) => isHoldingForUid(uid, each)),
    );
    if (Object.keys(hidden).length > 0) grants.set(uid, { atMs: grantedMs, amounts: hidden });
  }
  const inUse = sumAmounts([
    ...balancers.map(countAmounts),
    ...[...grants.values()].map(({ amounts }) => amounts),
  ]);
  return { atMs, inUse, grants, quotas: previous?.quotas };
}

function countAmounts({ kind, listeners = 0 }: Holding): Amounts {
  return { [LOAD_BALANCERS_KEY]: 1, [kind]: 1, [LISTENERS_KEY]: listeners };
}

/**
 * Returns the granted amounts that a listing may not show yet. Listeners granted to an existing load balancer stay
 * reserved for the whole `VISIBILITY_MS`, because the listing does not tell old listeners from new ones.
 */
function countHidden(granted: Amounts, visibleHolding: Holding | undefined): Amounts {
  if (visibleHolding === undefined) return granted;
  const isNew = granted[LOAD_BALANCERS_KEY] !== undefined;
  const listeners = (granted[LISTENERS_KEY] ?? 0) - (isNew ? (visibleHolding.listeners ?? 0) : 0);
  return listeners > 0 ? { [LISTENERS_KEY]: listeners } : {};
}

/**
 * Returns whether a cluster's limits follow from its account's quota. A configured number is used as it is.
 */
export function isQuotaBound({ max }: LoadBalancerLimits): boolean {
  return max === undefined;
}

/** Returns a cluster's limit for each resource; a missing key means no limit. */
export function getLimits(settings: LoadBalancerLimits, quotas: Amounts = {}, accountClusters = 1): Amounts {
  const limits: Record<string, number> = {
    [LOAD_BALANCERS_KEY]: getMaxLoadBalancers(settings),
    [LISTENERS_KEY]: getMaxPorts(settings),
  };
  for (const [name, quota] of isQuotaBound(settings) ? Object.entries(quotas) : []) {
    if (name === LISTENERS_KEY && settings.maxPorts !== undefined) continue;
    // If the account has more clusters than quota, each cluster still gets one: the cloud rejects the excess.
    const share = Math.min(quota, Math.max(1, Math.floor(quota / Math.max(1, accountClusters))));
    limits[name] = Math.min(limits[name] ?? share, share);
  }
  return limits;
}

/** Grants as many requests as a listing allows, older Services first, and counts them in the state. */
export function grantReservations(
  requests: readonly ReservationRequest[],
  state: ReservationState,
  { limits, nowMs }: { readonly limits: Amounts; readonly nowMs: number },
): {
  readonly reservations: Extract<Reservations, { readonly kind: "counted" }>;
  readonly state: ReservationState;
} {
  const grants = new Map(state.grants);
  const grantedSince = sumAmounts(
    [...grants.values()].filter(({ atMs }) => atMs >= state.atMs).map(({ amounts }) => amounts),
  );
  const isFresh = isWithin(nowMs - state.atMs, FRESH_LISTING_MS);
  const getRemaining = (name: string, used: Amounts): number => {
    const free = Math.max(0, (limits[name] ?? Number.POSITIVE_INFINITY) - (state.inUse[name] ?? 0));
    const spent = used[name] ?? 0;
    if (!isFresh) return Math.floor(free / 16) - spent;
    return spent === 0 && name === LISTENERS_KEY ? free : Math.ceil(free / 2) - spent;
  };
  let used = grantedSince;
  const granted = new Set<string>();
  const rejected = new Map<string, ReachedLimit>();
  for (const { uid, amounts: needed } of requests.toSorted(compareAge)) {
    const earlierGrant = grants.get(uid)?.amounts ?? {};
    const additional = subtractAmounts(needed, earlierGrant);
    const amounts = Object.entries(additional);
    const reached = findReachedLimit(amounts);
    if (reached !== undefined) rejected.set(uid, reached);
    if (reached !== undefined || amounts.some(([name, amount]) => amount > getRemaining(name, used)))
      continue;
    granted.add(uid);
    if (amounts.length === 0) continue;
    used = sumAmounts([used, additional]);
    grants.set(uid, { atMs: nowMs, amounts: sumAmounts([earlierGrant, additional]) });
  }
  return { reservations: { kind: "counted", granted, rejected }, state: { ...state, grants } };

  function findReachedLimit(amounts: readonly (readonly [string, number])[]): ReachedLimit | undefined {
    for (const [name, amount] of amounts) {
      const limit = limits[name];
      if (limit === undefined) continue;
      if (amount > limit - (state.inUse[name] ?? 0) - (grantedSince[name] ?? 0)) return { name, limit };
    }
    return undefined;
  }
}

/** Returns whether open requests need a new listing. `isFull`: every open request exceeds a limit. */
export function needsListing(
  state: ReservationState | undefined,
  { isFull, nowMs }: { readonly isFull: boolean; readonly nowMs: number },
): boolean {
  if (state === undefined) return true;
  return !isWithin(nowMs - state.atMs, isFull ? FULL_RETRY_MS : FRESH_LISTING_MS);
}

/** Returns whether a listing is recent enough to grant reservations. */
export function isUsable(state: ReservationState | undefined, nowMs: number): state is ReservationState {
  return state !== undefined && isWithin(nowMs - state.atMs, LISTING_LIFETIME_MS);
}

/** Returns whether a holding is a whole load balancer, not a part such as a security group. */
function isLoadBalancer({ kind, isPart }: Holding): boolean {
  return isPart === undefined && kind.endsWith("load balancer");
}

function isHoldingForUid(uid: string, { id, uid: uidPrefix }: Holding): boolean {
  return uid === id || (uidPrefix !== undefined && uid.replaceAll("-", "").startsWith(uidPrefix));
}

function compareAge(one: ReservationRequest, other: ReservationRequest): number {
  const [a, b] = [one, other].map(({ created, uid }) => `${created} ${uid}`) as [string, string];
  return a < b ? -1 : 1;
}

/** Returns whether a duration is below a limit. A negative one, after the clock was set back, is not. */
function isWithin(ms: number, limitMs: number): boolean {
  return ms >= 0 && ms < limitMs;
}

function sumAmounts(all: readonly Amounts[]): Amounts {
  const total: Record<string, number> = {};
  for (const each of all)
    for (const [name, amount] of Object.entries(each)) total[name] = (total[name] ?? 0) + amount;
  return total;
}

function subtractAmounts(needed: Amounts, granted: Amounts): Amounts {
  const more = Object.entries(needed).map(([name, amount]) => [name, amount - (granted[name] ?? 0)] as const);
  return Object.fromEntries(more.filter(([, amount]) => amount > 0));
}

/**
 * Returns how many load balancers and listeners the Service needs in addition to those that the cloud shows.
 * Returns undefined if it needs no more. Without the model's `measure` it counts load balancers only.
 */
export function measureReservation(
  question: LoadBalancerQuestion,
  observed: unknown,
  { model, settings }: { readonly model: LoadBalancerModel; readonly settings: Settings },
): Amounts | undefined {
  const isVisible = model.isVisible?.(question, observed, settings) ?? true;
  const { kind, missingListeners = 0 } = model.measure?.(question, observed) ?? {};
  if (isVisible && missingListeners === 0) return undefined;
  return {
    ...(isVisible ? {} : { [LOAD_BALANCERS_KEY]: 1 }),
    ...(isVisible || kind === undefined ? {} : { [kind]: 1 }),
    ...(missingListeners === 0 ? {} : { [LISTENERS_KEY]: missingListeners }),
  };
}
