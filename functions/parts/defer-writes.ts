import type { StateReference } from "#core/controller.ts";
import type { Plan } from "#core/decision.ts";
import type { FleetBrakeState } from "#core/node-lifecycle/fleet-record.ts";
import type { DeferredWrites } from "#core/report.ts";
import type { Round } from "#core/rounds.ts";
import type { Batch } from "#functions/parts/batch.ts";
import {
  createEmptyUsage,
  createLabelsOnlyReason,
  isDry,
  type Outcomes,
  reportPlan,
  skipAll,
} from "#functions/parts/carry-out.ts";
import { createFleetBrakeGuard } from "#functions/parts/fleet-brake-guard.ts";
import { buildAskContext, type Invocation } from "#functions/parts/invocation.ts";

/** The outcomes of finished objects, and the writes deferred to the relay. */
export interface DeferredBatch extends Outcomes {
  readonly handedBack?: DeferredWrites;
}

/**
 * Plans without writing: if the relay writes, the function has no connection and no credentials for the
 * cluster.
 */
export async function deferWrites(invocation: Invocation, batch: Batch): Promise<DeferredBatch> {
  const { cluster, controller, event, now, clock, stop } = invocation;
  if (batch.objects().length === 0) return createEmptyUsage([]);
  const isDryRun = isDry(invocation);
  const left = (next: DeferredWrites["next"]): DeferredBatch => ({
    ...createEmptyUsage([]),
    handedBack: { moment: { now: now.toISOString(), clock }, next },
  });
  const reference = controller.getStateReference?.(batch.subjects(), buildAskContext(invocation));
  if (reference !== undefined && !isRead(reference, event.round)) return left(buildNextRead(reference));
  const { state, count } = event.round ?? {};
  const under = reference === undefined || state === undefined ? undefined : { state, count };
  const planUnder = (fleet?: FleetBrakeState): Plan => batch.plan(under && { ...under, fleet });
  // A granted deletion counts before it is deferred, because the function does not learn whether it is
  // written.
  const isUnwritten = isDryRun || cluster.policies.labelsOnly;
  const plan = isUnwritten ? planUnder() : await createFleetBrakeGuard(invocation).plan(planUnder);
  if (isDryRun) return createEmptyUsage(reportPlan(batch, plan, stop));
  if (plan.kind === "each") {
    const items = batch.buildItems(plan.decisions).map(({ index, decision }) => ({ index, decision }));
    return left({ kind: "decisions", items });
  }
  const { because, write } = plan;
  const narrowed = createLabelsOnlyReason(invocation, plan);
  return narrowed === undefined
    ? left({ kind: "shared", because, write })
    : createEmptyUsage(skipAll(batch, narrowed));
}

/** Whether the relay has read the whole state. */
function isRead({ counted }: StateReference, round: Round | undefined): boolean {
  return round !== undefined && (counted === undefined || round.count !== undefined);
}

function buildNextRead({ apiVersion, name, at, counted }: StateReference): DeferredWrites["next"] {
  const state = { apiVersion, name, at };
  if (counted === undefined) return { kind: "read", state };
  return { kind: "read", state, counted: { apiVersion: counted.apiVersion, name: counted.name } };
}
