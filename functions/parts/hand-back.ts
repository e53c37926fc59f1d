import type { StateReference } from "#core/controller.ts";
import type { Plan } from "#core/decision.ts";
import type { HandedBack } from "#core/handed-back.ts";
import type { FleetStanding } from "#core/node-lifecycle/fleet-brake.ts";
import type { Round } from "#core/rounds.ts";
import type { Batch } from "#functions/parts/batch.ts";
import {
  allSkipped,
  isDry,
  nothingSent,
  type Outcomes,
  underLabelsOnly,
  withoutWriting,
} from "#functions/parts/carry-out.ts";
import { createFleetGate } from "#functions/parts/fleet-gate.ts";
import { askContextOf, type Invocation } from "#functions/parts/invocation.ts";

/** What became of the objects that need nothing more, and what is left to whoever can reach the cluster. */
export interface Decided extends Outcomes {
  readonly handedBack?: HandedBack;
}

/** Plans, and writes nothing: the function of a cluster whose relay writes has no way to it and nothing to sign in with. */
export async function handBack(invocation: Invocation, batch: Batch): Promise<Decided> {
  const { cluster, controller, event, now, clock, stop } = invocation;
  if (batch.objects().length === 0) return nothingSent([]);
  const isDryRun = isDry(invocation);
  const left = (next: HandedBack["next"]): Decided => ({
    ...nothingSent([]),
    handedBack: { moment: { now: now.toISOString(), clock }, next },
  });
  const reference = controller.stateOf?.(batch.subjects(), askContextOf(invocation));
  if (reference !== undefined && !isRead(reference, event.round)) return left(readingOf(reference));
  const { state, count } = event.round ?? {};
  const under = reference === undefined || state === undefined ? undefined : { state, count };
  const planUnder = (fleet?: FleetStanding): Plan => batch.plan(under && { ...under, fleet });
  // What is let counts before it is handed back: whether and when it is written is not known here.
  const isUnwritten = isDryRun || cluster.policies.labelsOnly;
  const plan = isUnwritten ? planUnder() : await createFleetGate(invocation).planned(planUnder);
  if (isDryRun) return nothingSent(withoutWriting(batch, plan, stop));
  if (plan.kind === "each") {
    const items = batch.itemsOf(plan.decisions).map(({ index, decision }) => ({ index, decision }));
    return left({ kind: "decisions", items });
  }
  const { because, write } = plan;
  const narrowed = underLabelsOnly(invocation, plan);
  return narrowed === undefined
    ? left({ kind: "shared", because, write })
    : nothingSent(allSkipped(batch, narrowed));
}

/** Whether the relay has read all of it. */
function isRead({ counted }: StateReference, round: Round | undefined): boolean {
  return round !== undefined && (counted === undefined || round.count !== undefined);
}

function readingOf({ apiVersion, name, at, counted }: StateReference): HandedBack["next"] {
  const state = { apiVersion, name, at };
  if (counted === undefined) return { kind: "read", state };
  return { kind: "read", state, counted: { apiVersion: counted.apiVersion, name: counted.name } };
}
