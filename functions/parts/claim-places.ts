import type { Observation } from "#core/capability.ts";
import { messageOf } from "#core/message-of.ts";
import type { CloudUsage } from "#core/report.ts";
import type { HoldingsQuestion } from "#core/service/holdings.ts";
import { LOAD_BALANCERS } from "#core/service/model.ts";
import type { Places } from "#core/service/places.ts";
import { NO_CLOUD_USAGE } from "#core/usage.ts";
import type { Batch } from "#functions/parts/batch.ts";
import { askContextOf, type Invocation, shareOf } from "#functions/parts/invocation.ts";
import type { PlaceLedger } from "#functions/parts/place-ledger.ts";

/**
 * Claims the places for load balancers that a batch is about to make, and gives the batch the answer; what an audit has listed is noted.
 * Without requests nobody is asked.
 */
export async function claimPlaces(invocation: Invocation, batch: Batch, ledger: PlaceLedger): Promise<void> {
  const { controller, cluster, event, now } = invocation;
  if (controller.countsPlaces === true)
    for (const { answer } of batch.subjects())
      noteAudit(answer, (state) => ledger.note(cluster.name, state, now.getTime()));
  const requests = controller.placesFor?.(batch.subjects(), askContextOf(invocation)) ?? [];
  if (requests.length === 0) return;
  let usage = NO_CLOUD_USAGE;
  const places: Places = await ledger.claim({
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

function noteAudit(answer: unknown, note: (state: unknown) => void): void {
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
    const call = { signal: deadline.signal, share: shareOf(invocation) };
    const listed = await cloud.capabilities?.[LOAD_BALANCERS]?.observe([question], call);
    const [answer] = listed?.answers ?? [];
    const usage = listed?.usage ?? NO_CLOUD_USAGE;
    return { answer: answer ?? unavailable("the cloud does not say which load balancers it has"), usage };
  } catch (error) {
    const message = `the load balancers of cluster "${cluster.name}" cannot be counted: ${messageOf(error)}`;
    return { answer: unavailable(message), usage: NO_CLOUD_USAGE };
  }
}
