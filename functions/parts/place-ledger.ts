import type { Observation } from "#core/capability.ts";
import { HoldingsState } from "#core/service/holdings.ts";
import {
  grantPlaces,
  isUsable,
  listPlaces,
  needsListing,
  type PlaceRequest,
  type PlaceState,
  type Places,
} from "#core/service/places.ts";

/** What is asked of a cluster's places. */
export interface PlaceClaim {
  readonly cluster: string;
  readonly requests: readonly PlaceRequest[];
  readonly max: number;
  /** Lists what the cloud has for the cluster; never rejects. */
  list(): Promise<Observation>;
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
  /** One claim of a cluster after the other: two that list at once would grant the same places. */
  const last = new Map<string, Promise<unknown>>();

  function keep(cluster: string, state: PlaceState): void {
    states.delete(cluster);
    states.set(cluster, state);
    const [oldest] = states.keys();
    if (states.size > MAX_CLUSTERS && oldest !== undefined) states.delete(oldest);
  }

  function grant({ cluster, requests, max }: PlaceClaim): Extract<Places, { kind: "counted" }> | undefined {
    const known = states.get(cluster);
    const at = nowMs();
    if (!isUsable(known, at)) return undefined;
    const { places, state } = grantPlaces(requests, known, { max, nowMs: at });
    keep(cluster, state);
    return places;
  }

  async function claimNow(claim: PlaceClaim): Promise<Places> {
    const { cluster, requests, max } = claim;
    const places = grant(claim);
    const atMs = nowMs();
    const isOpen = places === undefined || requests.some(({ uid }) => !places.granted.has(uid));
    if (!isOpen || !needsListing(states.get(cluster), { max, nowMs: atMs })) return places ?? NOTHING;
    const answer = await claim.list();
    if (answer.kind === "error") {
      if (answer.code === "Invalid") return { kind: "uncounted" };
      return places ?? { kind: "unknown", code: answer.code, message: answer.message };
    }
    const listed = HoldingsState.safeParse(answer.state);
    if (!listed.success) return places ?? UNREADABLE;
    keep(cluster, listPlaces(listed.data.holdings, states.get(cluster), atMs));
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

const NOTHING: Places = { kind: "counted", granted: new Set(), isFull: false };
const UNREADABLE: Places = {
  kind: "unknown",
  code: "Unavailable",
  message: "what the cloud has for the cluster cannot be read",
};
