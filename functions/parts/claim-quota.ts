import type { Observation } from "#core/capability.ts";
import { type CloudUsage, NO_CLOUD_USAGE } from "#core/report.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { HoldingsQuestion } from "#core/service/holdings.ts";
import type { Reservations } from "#core/service/load-balancer-quota.ts";
import { LOAD_BALANCERS } from "#core/service/model.ts";
import type { Batch } from "#functions/parts/batch.ts";
import { buildAskContext, getQuotaShare, type Invocation } from "#functions/parts/invocation.ts";
import type { ReservationLedger } from "#functions/parts/quota-ledger.ts";

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
