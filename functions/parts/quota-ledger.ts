import { setNewest } from "#core/bounded-map.ts";
import type { Observation } from "#core/capability.ts";
import { type CloudUsage, NO_CLOUD_USAGE } from "#core/report.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { type HoldingsQuestion, HoldingsState } from "#core/service/holdings.ts";
import {
  getLimits,
  grantReservations,
  isQuotaBound,
  isUsable,
  listReservations,
  needsListing,
  type ReservationRequest,
  type ReservationState,
  type Reservations,
} from "#core/service/load-balancer-quota.ts";
import { LOAD_BALANCERS } from "#core/service/model.ts";
import type { LoadBalancerLimits } from "#core/service/settings.ts";
import type { Batch } from "#functions/parts/batch.ts";
import { buildAskContext, getQuotaShare, type Invocation } from "#functions/parts/invocation.ts";

/**
 * Claims quota for the load balancers that a batch will create, and gives the batch the result. Also records
 * what an audit listed. Without claims, the cloud is not asked.
 */
export async function claimReservations(
  invocation: Invocation,
  batch: Batch,
  ledger: ReservationLedger,
): Promise<void> {
  const { controller, cluster, event, now } = invocation;
  if (controller.countsReservations === true)
    for (const { answer } of batch.subjects())
      recordAudit(answer, (state) => ledger.note(cluster.name, state, now.getTime()));
  const requests = controller.listReservationRequests?.(batch.subjects(), buildAskContext(invocation)) ?? [];
  if (requests.length === 0) return;
  let usage = NO_CLOUD_USAGE;
  const places: Reservations = await ledger.claim({
    cluster: cluster.name,
    requests,
    settings: cluster.loadBalancers,
    accountClusters: event.accountClusters,
    async list({ quotas }) {
      const listed = await listHeld(invocation, quotas ? { ...BALANCERS, quotas } : BALANCERS);
      usage = listed.usage;
      return listed.answer;
    },
  });
  batch.grant(places, usage);
}

function recordAudit(answer: unknown, note: (state: unknown) => void): void {
  const observed = answer as Observation | undefined;
  if (observed?.kind === "observed") note(observed.state);
}

const BALANCERS: HoldingsQuestion = { holdings: true, balancersAlone: true };

async function listHeld(
  invocation: Invocation,
  question: HoldingsQuestion,
): Promise<{ readonly answer: Observation; readonly usage: CloudUsage }> {
  const { dependencies, cluster, deadline } = invocation;
  const unavailable = (message: string) => ({ kind: "error", code: "Unavailable", message }) as const;
  try {
    const cloud = await dependencies.cloud(cluster);
    const call = { signal: deadline.signal, share: getQuotaShare(invocation) };
    const listed = await cloud.capabilities?.[LOAD_BALANCERS]?.observe([question], call);
    const [answer] = listed?.answers ?? [];
    const usage = listed?.usage ?? NO_CLOUD_USAGE;
    return { answer: answer ?? unavailable("the cloud does not say which load balancers it has"), usage };
  } catch (error) {
    const message = `the load balancers of cluster "${cluster.name}" cannot be counted: ${getErrorMessage(error)}`;
    return { answer: unavailable(message), usage: NO_CLOUD_USAGE };
  }
}

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
    const limits = getLimits(settings, known.quotas, accountClusters(claim));
    const { reservations, state } = grantReservations(requests, known, { limits, nowMs: at });
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
