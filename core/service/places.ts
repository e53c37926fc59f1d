import type { Holding } from "#core/service/holdings.ts";
import { type LoadBalancerLimits, limitListeners, limitLoadBalancers } from "#core/settings.ts";

/**
 * Places for load balancers: a cluster has `loadBalancers.max` of them, and `loadBalancers.maxPorts` listeners on all of them together.
 * What holds one is what the cloud shows with the cluster's tag, and what this process has let be made since. What a tenant writes on
 * Services counts for nothing.
 *
 * A function remembers its last listing for its own process alone, and knows of others what the cloud shows. So a Service is made on a listing
 * of at most ten minutes, the audit's where that is there. Of the places that a listing leaves free, one process grants half at once, as a
 * relay has two invocations of a cluster at a time; and a sixteenth later on, as there may be many processes. Then it lists anew. One
 * Service may need more listeners than that: on a new listing the first one gets what is free.
 */
export interface PlaceState {
  /** When the listing began, in milliseconds of whoever keeps the state. */
  readonly atMs: number;
  /** What the listing showed, and grants of before that it may not show yet. */
  readonly held: Amounts;
  /** What was granted, by the uid of its Service, and when. */
  readonly grants: ReadonlyMap<string, Grant>;
  /** What the account may have, as last read; undefined where nobody has asked, and empty where the cloud does not tell. */
  readonly quotas?: Amounts | undefined;
}

/** Numbers of things that are bounded: by `LOAD_BALANCER_COUNT`, `LISTENER_COUNT`, or the `kind` of a holding. */
export type Amounts = Readonly<Record<string, number>>;

/** Load balancers of every kind. */
export const LOAD_BALANCER_COUNT = "load balancers";

/** Listeners of all load balancers. */
export const LISTENER_COUNT = "listeners";

/** What one Service was granted. */
interface Grant {
  readonly atMs: number;
  readonly takes: Amounts;
}

/** A Service for which something is to be made that the cloud does not show. */
export interface PlaceRequest {
  readonly uid: string;
  readonly created: string;
  /** What is made of each thing that is bounded. */
  readonly takes: Amounts;
}

/** What came of requests for places: one that is not granted comes again. */
export type Places =
  | {
      readonly kind: "counted";
      readonly granted: ReadonlySet<string>;
      /** Those for which there is no room, and the bound that is reached; the others are granted more on the next listing. */
      readonly full: ReadonlyMap<string, ReachedBound>;
    }
  /** The cloud was asked for what it has, and did not say. */
  | {
      readonly kind: "unknown";
      readonly code: "Throttled" | "Unavailable" | "Aborted" | "Denied";
      readonly message: string;
    }
  /** What this cloud has cannot be listed: places are counted by Services alone. */
  | { readonly kind: "uncounted" };

/** A bound that leaves no room for a Service. */
export interface ReachedBound {
  /** What of: a key of `Amounts`. */
  readonly name: string;
  readonly bound: number;
}

/** A listing is good for so long. */
const LISTED_MS = 600_000;
/** Two listings are so far apart at the least; where no place is free, the longer time. */
const FRESH_MS = 2_000;
const FULL_MS = 10_000;
/** By then a cloud shows in a listing what was made. */
const SHOWN_MS = 60_000;

/** Counts what a listing shows; grants of before, which the listing may not show yet, hold their places. */
export function listPlaces(
  holdings: readonly Holding[],
  before: PlaceState | undefined,
  atMs: number,
): PlaceState {
  const balancers = holdings.filter(isLoadBalancer);
  const grants = new Map<string, Grant>();
  for (const [uid, { atMs: grantedMs, takes }] of before?.grants ?? []) {
    if (!isWithin(atMs - grantedMs, SHOWN_MS)) continue;
    const hidden = hiddenOf(
      takes,
      balancers.find((each) => isOf(uid, each)),
    );
    if (Object.keys(hidden).length > 0) grants.set(uid, { atMs: grantedMs, takes: hidden });
  }
  const held = sum([...balancers.map(amountsOf), ...[...grants.values()].map(({ takes }) => takes)]);
  return { atMs, held, grants, quotas: before?.quotas };
}

/** What a load balancer counts as. */
function amountsOf({ kind, listeners = 0 }: Holding): Amounts {
  return { [LOAD_BALANCER_COUNT]: 1, [kind]: 1, [LISTENER_COUNT]: listeners };
}

/** What was granted to a Service and is not shown: of a load balancer that is there, the listeners may come later. */
function hiddenOf(takes: Amounts, shown: Holding | undefined): Amounts {
  if (shown === undefined) return takes;
  const isNew = takes[LOAD_BALANCER_COUNT] !== undefined;
  const listeners = (takes[LISTENER_COUNT] ?? 0) - (isNew ? (shown.listeners ?? 0) : 0);
  return listeners > 0 ? { [LISTENER_COUNT]: listeners } : {};
}

/** Whether what a cluster may have follows from what its account may have: what is written stays as written. */
export function followsQuotas({ max }: LoadBalancerLimits): boolean {
  return max === undefined;
}

/** What a cluster may have of each thing; what is not named is not bounded. */
export function boundsFor(settings: LoadBalancerLimits, quotas: Amounts = {}, accountClusters = 1): Amounts {
  const bounds: Record<string, number> = {
    [LOAD_BALANCER_COUNT]: limitLoadBalancers(settings),
    [LISTENER_COUNT]: limitListeners(settings),
  };
  for (const [name, quota] of followsQuotas(settings) ? Object.entries(quotas) : []) {
    if (name === LISTENER_COUNT && settings.maxPorts !== undefined) continue;
    // A cluster among more than there are of them has one all the same: AWS refuses what is too much.
    const share = Math.min(quota, Math.max(1, Math.floor(quota / Math.max(1, accountClusters))));
    bounds[name] = Math.min(bounds[name] ?? share, share);
  }
  return bounds;
}

/** Grants as many of the requests as a listing allows, older Services first; the state counts them from then on. */
export function grantPlaces(
  requests: readonly PlaceRequest[],
  state: PlaceState,
  { bounds, nowMs }: { readonly bounds: Amounts; readonly nowMs: number },
): { readonly places: Extract<Places, { readonly kind: "counted" }>; readonly state: PlaceState } {
  const grants = new Map(state.grants);
  const since = sum([...grants.values()].filter(({ atMs }) => atMs >= state.atMs).map(({ takes }) => takes));
  const isFresh = isWithin(nowMs - state.atMs, FRESH_MS);
  const left = (name: string, used: Amounts): number => {
    const free = Math.max(0, (bounds[name] ?? Number.POSITIVE_INFINITY) - (state.held[name] ?? 0));
    const spent = used[name] ?? 0;
    if (!isFresh) return Math.floor(free / 16) - spent;
    return spent === 0 && name === LISTENER_COUNT ? free : Math.ceil(free / 2) - spent;
  };
  let used = since;
  const granted = new Set<string>();
  const full = new Map<string, ReachedBound>();
  for (const { uid, takes } of requests.toSorted(byAge)) {
    const before = grants.get(uid)?.takes ?? {};
    const more = beyond(takes, before);
    const reached = Object.keys(more).find((name) => (more[name] ?? 0) > room(name));
    if (reached !== undefined) full.set(uid, { name: reached, bound: bounds[reached] ?? 0 });
    if (reached !== undefined || Object.keys(more).some((name) => (more[name] ?? 0) > left(name, used)))
      continue;
    granted.add(uid);
    if (Object.keys(more).length === 0) continue;
    used = sum([used, more]);
    grants.set(uid, { atMs: nowMs, takes: sum([before, more]) });
  }
  return { places: { kind: "counted", granted, full }, state: { ...state, grants } };

  function room(name: string): number {
    return (bounds[name] ?? Number.POSITIVE_INFINITY) - (state.held[name] ?? 0) - (since[name] ?? 0);
  }
}

/** Whether the cloud is to be listed anew, because of requests that this listing leaves open; `isFull`: it has no room for any of them. */
export function needsListing(
  state: PlaceState | undefined,
  { isFull, nowMs }: { readonly isFull: boolean; readonly nowMs: number },
): boolean {
  if (state === undefined) return true;
  return !isWithin(nowMs - state.atMs, isFull ? FULL_MS : FRESH_MS);
}

/** Whether a listing is young enough to grant places on. */
export function isUsable(state: PlaceState | undefined, nowMs: number): state is PlaceState {
  return state !== undefined && isWithin(nowMs - state.atMs, LISTED_MS);
}

/** What is listed may be a part of a load balancer, such as its security group. */
function isLoadBalancer({ kind, isPart }: Holding): boolean {
  return isPart === undefined && kind.endsWith("load balancer");
}

function isOf(uid: string, { id, uid: begin }: Holding): boolean {
  return uid === id || (begin !== undefined && uid.replaceAll("-", "").startsWith(begin));
}

function byAge(one: PlaceRequest, other: PlaceRequest): number {
  const [a, b] = [one, other].map(({ created, uid }) => `${created} ${uid}`) as [string, string];
  return a < b ? -1 : 1;
}

/** A clock that was set back makes no listing younger. */
function isWithin(ms: number, limitMs: number): boolean {
  return ms >= 0 && ms < limitMs;
}

function sum(all: readonly Amounts[]): Amounts {
  const total: Record<string, number> = {};
  for (const each of all)
    for (const [name, amount] of Object.entries(each)) total[name] = (total[name] ?? 0) + amount;
  return total;
}

/** What is asked for beyond what was granted before. */
function beyond(takes: Amounts, granted: Amounts): Amounts {
  const more = Object.entries(takes).map(([name, amount]) => [name, amount - (granted[name] ?? 0)] as const);
  return Object.fromEntries(more.filter(([, amount]) => amount > 0));
}
