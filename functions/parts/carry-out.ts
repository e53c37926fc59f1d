import type { Cluster } from "#config/cluster.ts";
import type { ApiObject } from "#core/controller.ts";
import type { Because, Decision, Plan } from "#core/decision.ts";
import { messageOf } from "#core/message-of.ts";
import type { FleetStanding } from "#core/node-lifecycle/fleet-brake.ts";
import { dryRun, labelsOnlyOfWrites } from "#core/policies.ts";
import type { ClusterUsage, ObjectReport } from "#core/report.ts";
import type { Stop } from "#core/stop.ts";
import { addClusterUsage, NO_CLUSTER_USAGE } from "#core/usage.ts";
import type { Batch, ReadUnder } from "#functions/parts/batch.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import { createFleetGate } from "#functions/parts/fleet-gate.ts";
import { askContextOf, type Invocation } from "#functions/parts/invocation.ts";
import { heldNow, heldTogether } from "#functions/parts/stopped.ts";
import { applyDecisions } from "#kube/apply/apply.ts";
import { applyShared } from "#kube/apply/apply-shared.ts";
import type { ApplyItem } from "#kube/apply/context.ts";
import { countObjects, listObjects, readAgain, readState, type StateUnavailable } from "#kube/apply/read.ts";
import type { Transport } from "#kube/client/transport.ts";

/** What became of the objects, and what it took. */
export interface Outcomes {
  readonly objects: readonly ObjectReport[];
  readonly usage: ClusterUsage;
  readonly durationMs: number;
}

/** Seconds after which objects are due again whose API server we could not even sign in to. */
const SIGN_IN_AFTER_SECONDS = 10;

/** Shared writes come one after the other so often in all; then the batch is due again. */
const MAX_ROUNDS = 6;

/** Plans and writes, until every object has an outcome; with a dry run says what would have been written. */
export async function carryOut(invocation: Invocation, batch: Batch): Promise<Outcomes> {
  const { cluster, controller, dependencies, stop } = invocation;
  if (batch.objects().length === 0) return nothingSent([]);
  const isDryRun = isDry(invocation);
  // Without state a plan needs no API server, and a dry run then needs none at all.
  if (isDryRun && controller.stateOf?.(batch.subjects(), askContextOf(invocation)) === undefined)
    return nothingSent(withoutWriting(batch, batch.plan(undefined), stop));
  const startedAt = performance.now();
  const signedIn = await signIn(dependencies, cluster);
  if (signedIn.kind === "failed") return nothingSent(allDue(batch, signedIn.because, SIGN_IN_AFTER_SECONDS));
  const { objects, usage } = await rounds(invocation, batch, signedIn.transport, isDryRun);
  return { objects, usage, durationMs: performance.now() - startedAt };
}

type Carried = Pick<Outcomes, "objects" | "usage">;

async function rounds(
  invocation: Invocation,
  batch: Batch,
  transport: Transport,
  isDryRun: boolean,
): Promise<Carried> {
  const { cluster, controller, deadline } = invocation;
  const gone: ObjectReport[] = [];
  const fleet = createFleetGate(invocation);
  let usage = NO_CLUSTER_USAGE;
  const count = (more: Partial<ClusterUsage>): void => {
    usage = addClusterUsage(usage, { ...NO_CLUSTER_USAGE, ...more });
  };
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const under = await readUnder(invocation, batch, transport, count);
    if (under !== undefined && "because" in under)
      return { objects: [...gone, ...allDue(batch, under.because, under.afterSeconds)], usage };
    const planUnder = (fleet?: FleetStanding): Plan => batch.plan(under && { ...under, fleet });
    // What will not be written is not let, and does not count.
    const plan = isDryRun || cluster.policies.labelsOnly ? planUnder() : await fleet.planned(planUnder);
    if (isDryRun) return { objects: [...gone, ...withoutWriting(batch, plan, invocation.stop)], usage };
    if (plan.kind === "each") {
      const applied = await applyEach(invocation, batch, plan.decisions, transport);
      return { objects: [...gone, ...applied.objects], usage: addClusterUsage(usage, applied.usage) };
    }
    const narrowed = underLabelsOnly(invocation, plan);
    if (narrowed !== undefined) return { objects: [...gone, ...allSkipped(batch, narrowed)], usage };
    if (deadline.signal.aborted) return { objects: [...gone, ...allDue(batch, DEADLINE_REACHED, 0)], usage };
    const held = await heldTogether(invocation, plan.because.message);
    if (held !== undefined) return { objects: [...gone, ...allSkipped(batch, held)], usage };
    count({ writes: 1 });
    const shared = await applyShared(transport, plan.write, deadline.signal);
    if (shared.kind === "failed") {
      return { objects: [...gone, ...allDue(batch, shared.because, shared.afterSeconds)], usage };
    }
    if (shared.kind === "conflict") count({ conflicts: 1 });
    const read = await readAgain(transport, controller, batch.objects(), deadline.signal);
    count({ reads: read.reads });
    for (const { index, object, report } of read.objects) {
      if (report !== undefined) gone.push(report);
      batch.replace(index, object);
    }
    if (batch.objects().length === 0) return { objects: gone, usage };
  }
  return { objects: [...gone, ...allDue(batch, ROUNDS_EXHAUSTED, 0)], usage };
}

const DEADLINE_REACHED: Because = { code: "DeadlineReached", message: "the time of this invocation was up" };
const ROUNDS_EXHAUSTED: Because = {
  code: "InProgress",
  message: `${MAX_ROUNDS} rounds are done, and something is left`,
};

/** Reads what the batch is decided under. The state is first: whoever deletes after it was read makes the swap of it fail. */
async function readUnder(
  invocation: Invocation,
  batch: Batch,
  transport: Transport,
  count: (more: Partial<ClusterUsage>) => void,
): Promise<ReadUnder | StateUnavailable | undefined> {
  const { controller, deadline } = invocation;
  const reference = controller.stateOf?.(batch.subjects(), askContextOf(invocation));
  if (reference === undefined) return undefined;
  const { counted, listed, ...at } = reference;
  const { signal } = deadline;
  count({ reads: [at, counted, listed].filter((each) => each !== undefined).length });
  const state = await readState(transport, at, signal);
  if (state.kind === "unavailable") return state;
  return {
    state,
    count: counted && (await countObjects(transport, counted, signal)),
    listed: listed && (await listObjects(transport, listed, signal)),
  };
}

async function applyEach(
  invocation: Invocation,
  batch: Batch,
  decisions: readonly Decision[],
  transport: Transport,
): Promise<Carried> {
  const { cluster, controller, event, deadline, now } = invocation;
  return applyDecisions({
    transport,
    controller,
    items: batch.itemsOf(decisions),
    decide: batch.decider,
    act: (action, signal) => batch.act(action, signal),
    held: (write) => heldNow(invocation, write),
    signal: deadline.signal,
    graceMs: deadline.settleMs,
    // Who says so in Events: the function.
    reportingInstance: `serverless-ccm-${controller.functionName}`,
    now,
    monotonicMs: invocation.dependencies.monotonicMs,
    maxInFlight: cluster.limits.requestsPerFunction,
    busy: event.busy ?? false,
  });
}

/** Nothing was sent to the cluster. */
export function nothingSent(objects: readonly ObjectReport[]): Outcomes {
  return { objects, usage: NO_CLUSTER_USAGE, durationMs: 0 };
}

type SignedIn =
  | { readonly kind: "transport"; readonly transport: Transport }
  | { readonly kind: "failed"; readonly because: Because };

async function signIn(dependencies: Dependencies, cluster: Cluster): Promise<SignedIn> {
  try {
    return { kind: "transport", transport: await dependencies.api(cluster) };
  } catch (error) {
    const message = `the function cannot sign in to cluster "${cluster.name}": ${messageOf(error)}`;
    return { kind: "failed", because: { code: "SignInFailed", message } };
  }
}

/** Whether it is decided and said alone, by whoever wants it so. */
export function isDry({ cluster, event, stop }: Invocation): boolean {
  return cluster.policies.dryRun || event.dryRun === true || stop === "writes";
}

/** Why a shared write is not made in a cluster where labels alone may be written. */
export function underLabelsOnly(
  { cluster }: Invocation,
  { because, write }: Extract<Plan, { readonly kind: "shared" }>,
): Because | undefined {
  if (!cluster.policies.labelsOnly || labelsOnlyOfWrites([write]).length > 0) return undefined;
  return { code: "LabelsOnly", message: `labels alone may be written: ${because.message}` };
}

/** What a dry run says of a plan, and a stop of writes. */
export function withoutWriting(batch: Batch, plan: Plan, stop: Stop | undefined): ObjectReport[] {
  if (plan.kind === "each") {
    const reports = batch.itemsOf(plan.decisions).map(reportOfDryRun);
    // A dry run is for reading what would be done; a stop is not.
    return stop === "writes" ? reports.map(({ decision: _, ...report }) => report) : reports;
  }
  const message = `would write to ${plan.write.resource} first: ${plan.because.message}`;
  return allSkipped(batch, { code: "DryRun", message });
}

function reportOfDryRun({ index, object, decision }: ApplyItem): ObjectReport {
  const final = dryRun(decision);
  return { ...about(index, object), ...outcomeOf(final), decision };
}

function outcomeOf(decision: Decision): Pick<ObjectReport, "outcome" | "because" | "afterSeconds"> {
  const { because } = decision;
  switch (decision.kind) {
    case "retry":
      return { outcome: "retry", because, afterSeconds: decision.afterSeconds };
    case "skip":
      return { outcome: "skipped", because };
    case "unchanged":
      return { outcome: "unchanged", because };
    case "change":
      throw new Error("the dry-run policy let a change through");
  }
}

function allDue(batch: Batch, because: Because, afterSeconds: number): ObjectReport[] {
  return batch
    .objects()
    .map(({ index, object }) => ({ ...about(index, object), outcome: "retry", because, afterSeconds }));
}

/** The whole batch is left as it is. */
export function allSkipped(batch: Batch, because: Because): ObjectReport[] {
  return batch
    .objects()
    .map(({ index, object }) => ({ ...about(index, object), outcome: "skipped", because }));
}

function about(
  index: number,
  { metadata: { namespace, name, uid } }: ApiObject,
): Pick<ObjectReport, "index" | "namespace" | "name" | "uid"> {
  return { index, ...(namespace === undefined ? {} : { namespace }), name, uid };
}
