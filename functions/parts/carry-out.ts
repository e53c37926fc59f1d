import type { Cluster } from "#config/cluster.ts";
import type { Decision, Plan } from "#core/decision.ts";
import type { FleetBrakeState } from "#core/node-lifecycle/fleet-record.ts";
import { applyDryRun, selectLabelWrites } from "#core/policies.ts";
import type { Reason } from "#core/reason.ts";
import { addClusterUsage, type ClusterUsage, NO_CLUSTER_USAGE, type ObjectReport } from "#core/report.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { Stop } from "#core/stop.ts";
import type { ApiObject } from "#core/watch.ts";
import type { Batch, BatchState } from "#functions/parts/batch.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import { createFleetBrakeGuard } from "#functions/parts/fleet-brake-guard.ts";
import { buildAskContext, type Invocation } from "#functions/parts/invocation.ts";
import { checkSharedHold, checkWriteHold } from "#functions/parts/read-stop.ts";
import { applyDecisions } from "#kube/apply/apply.ts";
import { applyShared } from "#kube/apply/apply-shared.ts";
import type { ApplyItem } from "#kube/apply/context.ts";
import { countObjects, listObjects, readAgain, readState, type StateUnavailable } from "#kube/apply/read.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The outcomes of the objects, and the usage. */
export interface Outcomes {
  readonly objects: readonly ObjectReport[];
  readonly usage: ClusterUsage;
  readonly durationMs: number;
}

/** Seconds until objects are retried after the sign-in to their API server failed. */
const SIGN_IN_AFTER_SECONDS = 10;

/** Limit of consecutive shared writes; then the batch is retried. */
const MAX_ROUNDS = 6;

/** Plans and writes until every object has an outcome. A dry run reports what it would write. */
export async function carryOut(invocation: Invocation, batch: Batch): Promise<Outcomes> {
  const { cluster, controller, dependencies, stop } = invocation;
  if (batch.objects().length === 0) return createEmptyUsage([]);
  const isDryRun = isDry(invocation);
  // A plan without state needs no API server, so its dry run needs none either.
  if (isDryRun && controller.getStateReference?.(batch.subjects(), buildAskContext(invocation)) === undefined)
    return createEmptyUsage(reportPlan(batch, batch.plan(undefined), stop));
  const startedAt = performance.now();
  const signedIn = await signIn(dependencies, cluster);
  if (signedIn.kind === "failed")
    return createEmptyUsage(retryAll(batch, signedIn.because, SIGN_IN_AFTER_SECONDS));
  const { objects, usage } = await runRounds(invocation, batch, signedIn.transport, isDryRun);
  return { objects, usage, durationMs: performance.now() - startedAt };
}

type CarryOutResult = Pick<Outcomes, "objects" | "usage">;

async function runRounds(
  invocation: Invocation,
  batch: Batch,
  transport: Transport,
  isDryRun: boolean,
): Promise<CarryOutResult> {
  const { cluster, controller, deadline } = invocation;
  const gone: ObjectReport[] = [];
  const fleet = createFleetBrakeGuard(invocation);
  let usage = NO_CLUSTER_USAGE;
  const count = (more: Partial<ClusterUsage>): void => {
    usage = addClusterUsage(usage, { ...NO_CLUSTER_USAGE, ...more });
  };
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const under = await readUnder(invocation, batch, transport, count);
    if (under !== undefined && "because" in under)
      return { objects: [...gone, ...retryAll(batch, under.because, under.afterSeconds)], usage };
    const planUnder = (fleet?: FleetBrakeState): Plan => batch.plan(under && { ...under, fleet });
    // Deletions that will not be written are neither granted nor counted.
    const plan = isDryRun || cluster.policies.labelsOnly ? planUnder() : await fleet.plan(planUnder);
    if (isDryRun) return { objects: [...gone, ...reportPlan(batch, plan, invocation.stop)], usage };
    if (plan.kind === "each") {
      const applied = await applyEach(invocation, batch, plan.decisions, transport);
      return { objects: [...gone, ...applied.objects], usage: addClusterUsage(usage, applied.usage) };
    }
    const narrowed = createLabelsOnlyReason(invocation, plan);
    if (narrowed !== undefined) return { objects: [...gone, ...skipAll(batch, narrowed)], usage };
    if (deadline.signal.aborted)
      return { objects: [...gone, ...retryAll(batch, DEADLINE_REACHED, 0)], usage };
    const held = await checkSharedHold(invocation, plan.because.message);
    if (held !== undefined) return { objects: [...gone, ...skipAll(batch, held)], usage };
    count({ writes: 1 });
    const shared = await applyShared(transport, plan.write, deadline.signal);
    if (shared.kind === "failed") {
      return { objects: [...gone, ...retryAll(batch, shared.because, shared.afterSeconds)], usage };
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
  return { objects: [...gone, ...retryAll(batch, ROUNDS_EXHAUSTED, 0)], usage };
}

const DEADLINE_REACHED: Reason = { code: "DeadlineReached", message: "the time of this invocation was up" };
const ROUNDS_EXHAUSTED: Reason = {
  code: "InProgress",
  message: `${MAX_ROUNDS} rounds are done, and something is left`,
};

/**
 * Reads the state that the batch is decided under. The state is read first: a deletion after the read makes
 * its swap fail.
 */
async function readUnder(
  invocation: Invocation,
  batch: Batch,
  transport: Transport,
  count: (more: Partial<ClusterUsage>) => void,
): Promise<BatchState | StateUnavailable | undefined> {
  const { controller, deadline } = invocation;
  const reference = controller.getStateReference?.(batch.subjects(), buildAskContext(invocation));
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
): Promise<CarryOutResult> {
  const { cluster, controller, event, deadline, now } = invocation;
  return applyDecisions({
    transport,
    controller,
    items: batch.buildItems(decisions),
    decide: batch.decider,
    act: (action, signal) => batch.act(action, signal),
    held: (write) => checkWriteHold(invocation, write),
    signal: deadline.signal,
    graceMs: deadline.settleMs,
    // The function that reports, in Events.
    reportingInstance: `serverless-ccm-${controller.functionName}`,
    now,
    monotonicMs: invocation.dependencies.monotonicMs,
    maxInFlight: cluster.limits.requestsPerFunction,
    busy: event.busy ?? false,
  });
}

/** The usage of an invocation that sent nothing to the cluster. */
export function createEmptyUsage(objects: readonly ObjectReport[]): Outcomes {
  return { objects, usage: NO_CLUSTER_USAGE, durationMs: 0 };
}

type SignInResult =
  | { readonly kind: "transport"; readonly transport: Transport }
  | { readonly kind: "failed"; readonly because: Reason };

async function signIn(dependencies: Dependencies, cluster: Cluster): Promise<SignInResult> {
  try {
    return { kind: "transport", transport: await dependencies.api(cluster) };
  } catch (error) {
    const message = `the function cannot sign in to cluster "${cluster.name}": ${getErrorMessage(error)}`;
    return { kind: "failed", because: { code: "SignInFailed", message } };
  }
}

/** Whether decisions are only reported, because the operator, the event or a stop requires a dry run. */
export function isDry({ cluster, event, stop }: Invocation): boolean {
  return cluster.policies.dryRun || event.dryRun === true || stop === "writes";
}

/** Returns why a shared write is not made in a cluster with the policy `labelsOnly`. */
export function createLabelsOnlyReason(
  { cluster }: Invocation,
  { because, write }: Extract<Plan, { readonly kind: "shared" }>,
): Reason | undefined {
  if (!cluster.policies.labelsOnly || selectLabelWrites([write]).length > 0) return undefined;
  return { code: "LabelsOnly", message: `labels alone may be written: ${because.message}` };
}

/** Returns the report of a plan under a dry run or a stop of writes. */
export function reportPlan(batch: Batch, plan: Plan, stop: Stop | undefined): ObjectReport[] {
  if (plan.kind === "each") {
    const reports = batch.buildItems(plan.decisions).map(reportOfDryRun);
    // A dry run shows what would be written; a stop does not.
    return stop === "writes" ? reports.map(({ decision: _, ...report }) => report) : reports;
  }
  const message = `would write to ${plan.write.resource} first: ${plan.because.message}`;
  return skipAll(batch, { code: "DryRun", message });
}

function reportOfDryRun({ index, object, decision }: ApplyItem): ObjectReport {
  const final = applyDryRun(decision);
  return { ...identifyObject(index, object), ...toOutcome(final), decision };
}

function toOutcome(decision: Decision): Pick<ObjectReport, "outcome" | "because" | "afterSeconds"> {
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

function retryAll(batch: Batch, because: Reason, afterSeconds: number): ObjectReport[] {
  return batch.objects().map(({ index, object }) => ({
    ...identifyObject(index, object),
    outcome: "retry",
    because,
    afterSeconds,
  }));
}

/** Skips the whole batch. */
export function skipAll(batch: Batch, because: Reason): ObjectReport[] {
  return batch
    .objects()
    .map(({ index, object }) => ({ ...identifyObject(index, object), outcome: "skipped", because }));
}

function identifyObject(
  index: number,
  { metadata: { namespace, name, uid } }: ApiObject,
): Pick<ObjectReport, "index" | "namespace" | "name" | "uid"> {
  return { index, ...(namespace === undefined ? {} : { namespace }), name, uid };
}
