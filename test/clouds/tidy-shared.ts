import type { Cloud } from "#clouds/cloud.ts";
import { type Cluster, selectSettings } from "#config/cluster.ts";
import { HoldingsState } from "#core/service/holdings.ts";
import { LOAD_BALANCERS, type LoadBalancerModel } from "#core/service/model.ts";

const STEP_MINUTES = 20;
const LAST_MINUTES = 60;
const CALL_MS = 60_000;

/**
 * Runs the audits of an hour from that time on, which remove unused shared resources; does nothing if the
 * cloud's model has none. Call it before comparing settled states, so that tests need not wait for an audit's
 * grace.
 */
export async function tidyShared(
  { orphans }: LoadBalancerModel,
  cluster: Cluster,
  cloud: Cloud,
  fromMs: number,
): Promise<void> {
  if (orphans === undefined || !("tidyShared" in orphans)) return;
  const capability = cloud.capabilities?.["loadBalancers"];
  const call = { signal: AbortSignal.timeout(CALL_MS), share: 1 };
  for (let minutes = 0; minutes <= LAST_MINUTES; minutes += STEP_MINUTES) {
    const now = new Date(fromMs + minutes * 60_000);
    const question = { holdings: true, auditAt: now.toISOString() };
    const [answer] = (await capability?.observe([question], call))?.answers ?? [];
    if (answer?.kind !== "observed") throw new Error(`the audit: ${JSON.stringify(answer)}`);
    const { shared } = HoldingsState.parse(JSON.parse(JSON.stringify(answer.state)));
    const actions = orphans.tidyShared?.(shared, now, selectSettings(cluster)) ?? [];
    if (actions.length === 0) return;
    for (const action of actions) {
      const precondition = { uid: "namespace", deleting: false };
      const whole = { on: "cloud", capability: LOAD_BALANCERS, ...action, precondition } as const;
      const done = await capability?.act(whole, call);
      if (done?.answer.kind !== "done") throw new Error(`${action.action}: ${JSON.stringify(done?.answer)}`);
    }
  }
}
