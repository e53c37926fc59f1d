import type { Holding } from "#core/service/holdings.ts";
import type { LoadBalancerModel, LoadBalancerQuestion } from "#core/service/model.ts";
import { type LoadBalancerLimits, limitListeners, limitLoadBalancers } from "#core/service/settings.ts";
import type { Settings } from "#core/settings.ts";

/**
 * The reservations for load balancers of one cluster. Its quota is `loadBalancers.max` load balancers, with
 * `loadBalancers.maxPorts` listeners in total. The state counts the load balancers that the cloud shows with the
 * cluster's tag, and those that this process has granted since. It counts nothing that a tenant writes on Services.
 *
 * A function remembers its last listing within its own process, and sees other processes' work only in the
 * cloud. So it creates load balancers only if its listing, such as the audit's, is at most ten minutes
 * old. On a fresh listing a process grants half of what is free, because a relay has two invocations of a cluster
 * at a time. On an older listing it grants a sixteenth, because many processes may exist, and then lists again. The
 * first Service on a new listing may take all free listeners.
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

/** Amounts of limited resources, by `LOAD_BALANCER_COUNT`, `LISTENER_COUNT`, or the `kind` of a holding. */
export type Amounts = Readonly<Record<string, number>>;

/** The amount of load balancers of every kind. */
export const LOAD_BALANCER_COUNT = "load balancers";

/** The amount of listeners of all load balancers. */
export const LISTENER_COUNT = "listeners";

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
      readonly rejected: ReadonlyMap<string, ReachedBound>;
    }
  /** The cloud did not answer the listing. */
  | {
      readonly kind: "unknown";
      readonly code: "Throttled" | "Unavailable" | "Aborted" | "Denied";
      readonly message: string;
    }
  /** This cloud cannot list load balancers: only Services are counted. */
  | { readonly kind: "uncounted" };

/** A limit that leaves no room for a Service. */
export interface ReachedBound {
  /** The limited resource: a key of `Amounts`. */
  readonly name: string;
  readonly bound: number;
}

/** How long a listing is valid. */
const LISTED_MS = 600_000;
/** The minimum time between two listings; `FULL_MS` applies when nothing is free. */
const FRESH_MS = 2_000;
const FULL_MS = 10_000;
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
  return { [LOAD_BALANCER_COUNT]: 1, [kind]: 1, [LISTENER_COUNT]: listeners };
}

/** Returns the granted amounts that no listing shows yet: listeners may appear later than their load balancer. */
function countHidden(granted: Amounts, visibleHolding: Holding | undefined): Amounts {
  if (visibleHolding === undefined) return granted;
  const isNew = granted[LOAD_BALANCER_COUNT] !== undefined;
  const listeners = (granted[LISTENER_COUNT] ?? 0) - (isNew ? (visibleHolding.listeners ?? 0) : 0);
  return listeners > 0 ? { [LISTENER_COUNT]: listeners } : {};
}

/**
 * Returns whether a cluster's limits follow from its account's quota. A configured number is used as it is.
 */
export function isQuotaBound({ max }: LoadBalancerLimits): boolean {
  return max === undefined;
}

/** Returns a cluster's limit for each resource; a missing key means no limit. */
export function getBounds(settings: LoadBalancerLimits, quotas: Amounts = {}, accountClusters = 1): Amounts {
  const bounds: Record<string, number> = {
    [LOAD_BALANCER_COUNT]: limitLoadBalancers(settings),
    [LISTENER_COUNT]: limitListeners(settings),
  };
  for (const [name, quota] of isQuotaBound(settings) ? Object.entries(quotas) : []) {
    if (name === LISTENER_COUNT && settings.maxPorts !== undefined) continue;
    // If the account has more clusters than quota, each cluster still gets one: the cloud rejects the excess.
    const share = Math.min(quota, Math.max(1, Math.floor(quota / Math.max(1, accountClusters))));
    bounds[name] = Math.min(bounds[name] ?? share, share);
  }
  return bounds;
}

/** Grants as many requests as a listing allows, older Services first, and counts them in the state. */
export function grantReservations(
  requests: readonly ReservationRequest[],
  state: ReservationState,
  { bounds, nowMs }: { readonly bounds: Amounts; readonly nowMs: number },
): {
  readonly reservations: Extract<Reservations, { readonly kind: "counted" }>;
  readonly state: ReservationState;
} {
  const grants = new Map(state.grants);
  const grantedSince = sumAmounts(
    [...grants.values()].filter(({ atMs }) => atMs >= state.atMs).map(({ amounts }) => amounts),
  );
  const isFresh = isWithin(nowMs - state.atMs, FRESH_MS);
  const getRemaining = (name: string, used: Amounts): number => {
    const free = Math.max(0, (bounds[name] ?? Number.POSITIVE_INFINITY) - (state.inUse[name] ?? 0));
    const spent = used[name] ?? 0;
    if (!isFresh) return Math.floor(free / 16) - spent;
    return spent === 0 && name === LISTENER_COUNT ? free : Math.ceil(free / 2) - spent;
  };
  let used = grantedSince;
  const granted = new Set<string>();
  const rejected = new Map<string, ReachedBound>();
  for (const { uid, amounts: needed } of requests.toSorted(compareAge)) {
    const earlierGrant = grants.get(uid)?.amounts ?? {};
    const additional = subtractAmounts(needed, earlierGrant);
    const amounts = Object.entries(additional);
    const reached = findReachedBound(amounts);
    if (reached !== undefined) rejected.set(uid, reached);
    if (reached !== undefined || amounts.some(([name, amount]) => amount > getRemaining(name, used)))
      continue;
    granted.add(uid);
    if (amounts.length === 0) continue;
    used = sumAmounts([used, additional]);
    grants.set(uid, { atMs: nowMs, amounts: sumAmounts([earlierGrant, additional]) });
  }
  return { reservations: { kind: "counted", granted, rejected }, state: { ...state, grants } };

  function findReachedBound(amounts: readonly (readonly [string, number])[]): ReachedBound | undefined {
    for (const [name, amount] of amounts) {
      const bound = bounds[name];
      if (bound === undefined) continue;
      if (amount > bound - (state.inUse[name] ?? 0) - (grantedSince[name] ?? 0)) return { name, bound };
    }
    return undefined;
  }
}

/** Returns whether waiting requests need a new listing; `isFull` means that this one has no room for any of them. */
export function needsListing(
  state: ReservationState | undefined,
  { isFull, nowMs }: { readonly isFull: boolean; readonly nowMs: number },
): boolean {
  if (state === undefined) return true;
  return !isWithin(nowMs - state.atMs, isFull ? FULL_MS : FRESH_MS);
}

/** Returns whether a listing is recent enough to grant reservations. */
export function isUsable(state: ReservationState | undefined, nowMs: number): state is ReservationState {
  return state !== undefined && isWithin(nowMs - state.atMs, LISTED_MS);
}

/** A holding may be a part of a load balancer, such as its security group. */
function isLoadBalancer({ kind, isPart }: Holding): boolean {
  return isPart === undefined && kind.endsWith("load balancer");
}

function isHoldingForUid(uid: string, { id, uid: begin }: Holding): boolean {
  return uid === id || (begin !== undefined && uid.replaceAll("-", "").startsWith(begin));
}

function compareAge(one: ReservationRequest, other: ReservationRequest): number {
  const [a, b] = [one, other].map(({ created, uid }) => `${created} ${uid}`) as [string, string];
  return a < b ? -1 : 1;
}

/** A clock that was set back does not make a listing newer. */
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
 * Returns undefined if it needs no more, or if the cloud's model cannot measure them.
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
    ...(isVisible ? {} : { [LOAD_BALANCER_COUNT]: 1 }),
    ...(isVisible || kind === undefined ? {} : { [kind]: 1 }),
    ...(missingListeners === 0 ? {} : { [LISTENER_COUNT]: missingListeners }),
  };
}
