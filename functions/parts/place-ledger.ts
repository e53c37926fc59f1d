import type { Observation } from "#core/capability.ts";
import { HoldingsState } from "#core/service/holdings.ts";
import {
  boundsFor,
  followsQuotas,
  grantPlaces,
  isUsable,
  listPlaces,
  needsListing,
  type PlaceRequest,
  type PlaceState,
  type Places,
} from "#core/service/places.ts";
import type { LoadBalancerLimits } from "#core/settings.ts";

/** What is asked of a cluster's places. */
export interface PlaceClaim {
  readonly cluster: string;
  readonly requests: readonly PlaceRequest[];
  readonly settings: LoadBalancerLimits;
  /** Clusters that share the account, where somebody knows. */
  readonly accountClusters?: number | undefined;
  /** Lists what the cloud has for the cluster, and with `quotas` what the account may have; never rejects. */
  list(asked: { readonly quotas: boolean }): Promise<Observation>;
}

/** What one process knows of the load balancers of its clusters. It is bounded, and lost with the process: then the cloud is listed again. */
export interface PlaceLedger {
  /** Grants places for load balancers that are to be made; the cloud is listed where the last listing does not do. Never rejects. */
  claim(claim: PlaceClaim): Promise<Places>;
  /** Takes what an audit has listed. */
  note(cluster: string, answer: unknown, atMs: number): void;
}

/** Clusters that are remembered. */
const MAX_CLUSTERS = 1_000;

/** A ledger for one process. */
export function createPlaceLedger(nowMs: () => number): PlaceLedger {
  const states = new Map<string, PlaceState>();
  /** Clusters of the account, by cluster. */
  const sharing = new Map<string, number>();
  /** One claim of a cluster after the other: two that list at once would grant the same places. */
  const last = new Map<string, Promise<unknown>>();

  const keep = (cluster: string, state: PlaceState): void => remember(states, cluster, state);

  function grant(claim: PlaceClaim): Extract<Places, { kind: "counted" }> | undefined {
    const { cluster, requests, settings } = claim;
    const known = states.get(cluster);
    const at = nowMs();
    if (!isUsable(known, at) || (followsQuotas(settings) && known.quotas === undefined)) return undefined;
    const bounds = boundsFor(settings, known.quotas, accountClusters(claim));
    const { places, state } = grantPlaces(requests, known, { bounds, nowMs: at });
    keep(cluster, state);
    return places;
  }

  /** Whoever sends an event without it, such as a sweep, widens nothing. */
  function accountClusters({ cluster, accountClusters: told }: PlaceClaim): number | undefined {
    const known = told ?? sharing.get(cluster);
    if (known !== undefined) remember(sharing, cluster, known);
    return known;
  }

  async function claimNow(claim: PlaceClaim): Promise<Places> {
    const { cluster, requests, settings } = claim;
    const places = grant(claim);
    const atMs = nowMs();
    const open = requests.filter(({ uid }) => places?.granted.has(uid) !== true);
    const isFull = places !== undefined && open.every(({ uid }) => places.full.has(uid));
    if (open.length === 0 || !needsListing(states.get(cluster), { isFull, nowMs: atMs }))
      return places ?? NOTHING;
    const asked = followsQuotas(settings);
    const answer = await claim.list({ quotas: asked });
    if (answer.kind === "error") {
      if (answer.code === "Invalid") return { kind: "uncounted" };
      return places ?? { kind: "unknown", code: answer.code, message: answer.message };
    }
    const listed = HoldingsState.safeParse(answer.state);
    if (!listed.success) return places ?? UNREADABLE;
    const { holdings, quotas } = listed.data;
    const before = states.get(cluster);
    const known = quotas ?? before?.quotas ?? (asked ? {} : undefined);
    keep(cluster, { ...listPlaces(holdings, before, atMs), quotas: known });
    return grant(claim) ?? places ?? NOTHING;
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
      if (listed.success) keep(cluster, listPlaces(listed.data.holdings, states.get(cluster), atMs));
    },
  };
}

/** Keeps what was used last. */
function remember<Value>(values: Map<string, Value>, cluster: string, value: Value): void {
  values.delete(cluster);
  values.set(cluster, value);
  const [oldest] = values.keys();
  if (values.size > MAX_CLUSTERS && oldest !== undefined) values.delete(oldest);
}

const NOTHING: Places = { kind: "counted", granted: new Set(), full: new Map() };
const UNREADABLE: Places = {
  kind: "unknown",
  code: "Unavailable",
  message: "what the cloud has for the cluster cannot be read",
};
