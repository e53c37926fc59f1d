import { setNewest } from "#core/bounded-map.ts";
import type { Observation } from "#core/capability.ts";
import { HoldingsState } from "#core/service/holdings.ts";
import {
  getBounds,
  grantReservations,
  isQuotaBound,
  isUsable,
  listReservations,
  needsListing,
  type ReservationRequest,
  type ReservationState,
  type Reservations,
} from "#core/service/load-balancer-quota.ts";
import type { LoadBalancerLimits } from "#core/service/settings.ts";

/** A request for a cluster's quota reservations. */
export interface ReservationClaim {
  readonly cluster: string;
  readonly requests: readonly ReservationRequest[];
  readonly settings: LoadBalancerLimits;
  /** Clusters that share the account, if known. */
  readonly accountClusters?: number | undefined;
  /** Lists the cluster's resources in the cloud and, with `quotas`, the account's quotas; never rejects. */
  list(asked: { readonly quotas: boolean }): Promise<Observation>;
}

/**
 * What one process knows of its clusters' load balancers. It is bounded and ends with the process; the cloud
 * is then listed again.
 */
export interface ReservationLedger {
  /**
   * Grants reservations for new load balancers; lists the cloud if the last listing does not suffice. Never
   * rejects.
   */
  claim(claim: ReservationClaim): Promise<Reservations>;
  /** Records what an audit listed. */
  note(cluster: string, answer: unknown, atMs: number): void;
}

/** Limit of remembered clusters. */
const MAX_CLUSTERS = 1_000;

/** Creates the ledger of a process. */
export function createReservationLedger(nowMs: () => number): ReservationLedger {
  const states = new Map<string, ReservationState>();
  /** Clusters that share the account, by cluster. */
  const sharing = new Map<string, number>();
  /** One claim of a cluster at a time: two that list at once would grant the same reservations. */
  const last = new Map<string, Promise<unknown>>();

  const keep = (cluster: string, state: ReservationState): void =>
    void setNewest(states, cluster, state, MAX_CLUSTERS);

  function grant(claim: ReservationClaim): Extract<Reservations, { kind: "counted" }> | undefined {
    const { cluster, requests, settings } = claim;
    const known = states.get(cluster);
    const at = nowMs();
    if (!isUsable(known, at) || (isQuotaBound(settings) && known.quotas === undefined)) return undefined;
    const bounds = getBounds(settings, known.quotas, accountClusters(claim));
    const { reservations, state } = grantReservations(requests, known, { bounds, nowMs: at });
    keep(cluster, state);
    return reservations;
  }

  /** A sender without this number, such as a sweep, does not enlarge the cluster's part. */
  function accountClusters({ cluster, accountClusters: told }: ReservationClaim): number | undefined {
    const known = told ?? sharing.get(cluster);
    if (known !== undefined) setNewest(sharing, cluster, known, MAX_CLUSTERS);
    return known;
  }

  async function claimNow(claim: ReservationClaim): Promise<Reservations> {
    const { cluster, requests, settings } = claim;
    const reservations = grant(claim);
    const atMs = nowMs();
    const open = requests.filter(({ uid }) => reservations?.granted.has(uid) !== true);
    const isFull = reservations !== undefined && open.every(({ uid }) => reservations.rejected.has(uid));
    if (open.length === 0 || !needsListing(states.get(cluster), { isFull, nowMs: atMs }))
      return reservations ?? NOTHING;
    const asked = isQuotaBound(settings);
    const answer = await claim.list({ quotas: asked });
    if (answer.kind === "error") {
      if (answer.code === "Invalid") return { kind: "uncounted" };
      return reservations ?? { kind: "unknown", code: answer.code, message: answer.message };
    }
    const listed = HoldingsState.safeParse(answer.state);
    if (!listed.success) return reservations ?? UNREADABLE;
    const { holdings, quotas } = listed.data;
    const before = states.get(cluster);
    const known = quotas ?? before?.quotas ?? (asked ? {} : undefined);
    keep(cluster, { ...listReservations(holdings, before, atMs), quotas: known });
    return grant(claim) ?? reservations ?? NOTHING;
  }

  return {
    async claim(claim) {
      if (claim.requests.length === 0) return NOTHING;
      const before = last.get(claim.cluster);
      const mine = (before ?? Promise.resolve()).then(() => claimNow(claim));
      last.set(claim.cluster, mine);
      try {
        return await mine;
      } finally {
        if (last.get(claim.cluster) === mine) last.delete(claim.cluster);
      }
    },
    note(cluster, answer, atMs) {
      const listed = HoldingsState.safeParse(answer);
      if (listed.success) keep(cluster, listReservations(listed.data.holdings, states.get(cluster), atMs));
    },
  };
}

const NOTHING: Reservations = { kind: "counted", granted: new Set(), rejected: new Map() };
const UNREADABLE: Reservations = {
  kind: "unknown",
  code: "Unavailable",
  message: "what the cloud has for the cluster cannot be read",
};
