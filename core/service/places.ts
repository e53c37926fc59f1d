import type { Holding } from "#core/service/holdings.ts";

/**
 * Places for load balancers: a cluster has `loadBalancers.max` of them. What holds one is what the cloud shows with the cluster's tag, and
 * what this process has let be made since. What a tenant writes on Services counts for nothing.
 *
 * A function remembers its last listing for its own process alone, and knows of others what the cloud shows. So a Service is made on a listing
 * of at most ten minutes, the audit's where that is there. Of the places that a listing leaves free, one process grants half at once, as a
 * relay has two invocations of a cluster at a time; and a sixteenth later on, as there may be many processes. Then it lists anew.
 */
export interface PlaceState {
  /** When the listing began, in milliseconds of whoever keeps the state. */
  readonly atMs: number;
  /** Load balancers that the listing showed, and grants of before that it may not show yet. */
  readonly held: number;
  /** What was granted, by the uid of its Service, and when. */
  readonly grants: ReadonlyMap<string, number>;
}

/** A Service that is to get a load balancer which the cloud does not show. */
export interface PlaceRequest {
  readonly uid: string;
  readonly created: string;
}

/** What came of requests for places: one that is not granted comes again. */
export type Places =
  | {
      readonly kind: "counted";
      readonly granted: ReadonlySet<string>;
      /** All are taken; otherwise more are granted on the next listing. */
      readonly isFull: boolean;
    }
  /** The cloud was asked for what it has, and did not say. */
  | {
      readonly kind: "unknown";
      readonly code: "Throttled" | "Unavailable" | "Aborted" | "Denied";
      readonly message: string;
    }
  /** What this cloud has cannot be listed: places are counted by Services alone. */
  | { readonly kind: "uncounted" };

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
  const grants = [...(before?.grants ?? [])].filter(
    ([uid, grantedMs]) => isWithin(atMs - grantedMs, SHOWN_MS) && !balancers.some((each) => isOf(uid, each)),
  );
  return { atMs, held: balancers.length + grants.length, grants: new Map(grants) };
}

/** Grants as many of the requests as a listing allows, older Services first; the state counts them from then on. */
export function grantPlaces(
  requests: readonly PlaceRequest[],
  state: PlaceState,
  { max, nowMs }: { readonly max: number; readonly nowMs: number },
): { readonly places: Extract<Places, { readonly kind: "counted" }>; readonly state: PlaceState } {
  const grants = new Map(state.grants);
  const since = [...state.grants.values()].filter((grantedMs) => grantedMs >= state.atMs).length;
  const free = Math.max(0, max - state.held);
  const share = isWithin(nowMs - state.atMs, FRESH_MS) ? Math.ceil(free / 2) : Math.floor(free / 16);
  let left = share - since;
  const granted = new Set<string>();
  for (const { uid } of requests.toSorted(byAge)) {
    if (!grants.has(uid)) {
      if (left <= 0) continue;
      left -= 1;
      grants.set(uid, nowMs);
    }
    granted.add(uid);
  }
  return { places: { kind: "counted", granted, isFull: free - since <= 0 }, state: { ...state, grants } };
}

/** Whether the cloud is to be listed anew, because of requests that this listing leaves open. */
export function needsListing(
  state: PlaceState | undefined,
  { max, nowMs }: { readonly max: number; readonly nowMs: number },
): boolean {
  if (state === undefined) return true;
  return !isWithin(nowMs - state.atMs, state.held >= max ? FULL_MS : FRESH_MS);
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
