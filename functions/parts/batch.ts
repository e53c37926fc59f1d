import type { ActionResult } from "#clouds/cloud.ts";
import type { ActionAnswer } from "#core/capability.ts";
import type {
  AskContext,
  Conflict,
  DecisionContext,
  ListedObjects,
  ObjectCount,
  StateResult,
  Subject,
} from "#core/controller.ts";
import type { CloudAction, Decision, Plan } from "#core/decision.ts";
import { retry, toReference } from "#core/decisions.ts";
import type { FleetBrakeState } from "#core/node-lifecycle/fleet-record.ts";
import { applyPolicies } from "#core/policies.ts";
import { addUsage, type CloudUsage, type ObjectReport } from "#core/report.ts";
import type { Reservations } from "#core/service/load-balancer-quota.ts";
import { applyStop } from "#core/stop.ts";
import type { ApiObject } from "#core/watch.ts";
import { type Answers, askCloud, isSameQuestion } from "#functions/parts/ask-cloud.ts";
import { buildAskContext, getQuotaShare, type Invocation } from "#functions/parts/invocation.ts";
import type { ObjectEntry } from "#functions/parts/parse-objects.ts";
import type { ApplyItem, Decider } from "#kube/apply/context.ts";

/** The state that a batch was decided under, as read. */
export interface BatchState {
  readonly state: StateResult;
  readonly count: ObjectCount | undefined;
  readonly listed?: ListedObjects | undefined;
  readonly fleet?: FleetBrakeState | undefined;
}

/** The known state of an event's objects, and how to decide on them. */
export interface Batch {
  /** Plans for all objects without an outcome. */
  plan(under: BatchState | undefined): Plan;
  /** Builds a plan's decisions with their objects, under the cluster's policies. */
  buildItems(decisions: readonly Decision[]): ApplyItem[];
  /** Decides again on one object, after a change or a reread. */
  readonly decider: Decider;
  /** Carries out one cloud action within the event's share of the quotas. */
  act(action: CloudAction, signal: AbortSignal): Promise<ActionAnswer>;
  objects(): readonly ObjectEntry[];
  /** Returns the open objects with what is known of them. */
  subjects(): readonly Subject[];
  /** Replaces an object by its reread state; undefined if it is gone or its name belongs to a new object. */
  replace(index: number, object: ApiObject | undefined): void;
  /**
   * Returns the orphaned cloud resources found for an object; undefined if the search was not made or failed.
   */
  listOrphans(index: number): ObjectReport["orphans"];
  /** Returns the cloud resources of an object that are deleted once a later audit finds them unused, too. */
  listCandidates(index: number): ObjectReport["candidates"];
  /**
   * Sets the granted quota reservations and the cloud usage of counting them; until then nothing is granted.
   */
  grant(places: Reservations, took: CloudUsage): void;
  /** Returns the cloud usage so far. */
  cloudUsage(): CloudUsage;
}

/** Creates a batch from objects and the cloud's answers about them. */
export function createBatch(
  invocation: Invocation,
  entries: readonly ObjectEntry[],
  answers: Answers,
): Batch {
  const { dependencies, cluster, controller, event } = invocation;
  const subjects = new Map(entries.map(({ index, object }) => [index, subjectOf(object, answers)]));
  let usage = answers.usage;
  // The last state that a decision read besides its objects.
  let lastRead: BatchState | undefined;
  let places: Reservations = { kind: "counted", granted: new Set(), rejected: new Map() };

  function subjectOf(object: ApiObject, { byObject }: Answers): Subject {
    return { object, answer: byObject.get(object), hint: event.hints?.[object.metadata.uid] };
  }

  /** Objects with a cloud change, and objects that others changed. */
  const written = new Set<number>();
  const conflicts = new Map<number, Conflict>();
  const contextFor = (index: number | undefined): AskContext => {
    const conflict = index === undefined ? undefined : conflicts.get(index);
    return conflict === undefined
      ? buildAskContext(invocation)
      : { ...buildAskContext(invocation), conflict };
  };

  const decisionContextFor = (index: number | undefined): DecisionContext => ({
    ...contextFor(index),
    state: lastRead?.state,
    count: lastRead?.count,
    listed: lastRead?.listed,
    fleet: lastRead?.fleet,
    clock: invocation.clock,
    reservations: places,
  });

  const decide = (batch: readonly Subject[], index?: number): Plan =>
    controller.decide(batch, decisionContextFor(index));

  const underPolicies = (decision: Decision): Decision =>
    applyStop(
      applyPolicies(decision, { dryRun: false, labelsOnly: cluster.policies.labelsOnly }),
      invocation.stop,
    );

  function decideOne(subject: Subject, index: number): Decision {
    const plan = decide([subject], index);
    const [decision] = plan.kind === "each" ? plan.decisions : [];
    if (decision !== undefined) return underPolicies(decision);
    throw new Error(`${controller.name} decided nothing on ${subject.object.metadata.name}`);
  }

  /**
   * A cloud answer is valid for the question asked. A new question, or a change by us, needs a new answer.
   */
  async function observedAgain(
    fresh: ApiObject,
    known: Subject | undefined,
    index: number,
  ): Promise<Subject> {
    const isSame = known !== undefined && isSameQuestion(invocation, known.object, fresh);
    if (isSame && controller.applyResult === undefined) return { ...known, object: fresh };
    const asked = await askCloud(invocation, [fresh], contextFor(index));
    usage = addUsage(usage, asked.usage);
    return subjectOf(fresh, asked);
  }

  return {
    plan(under) {
      lastRead = under;
      return decide([...subjects.values()]);
    },
    buildItems(decisions) {
      return [...subjects].flatMap(([index, { object, hint }], place) => {
        const decision = decisions[place];
        if (decision === undefined)
          throw new Error(`${controller.name} decided on fewer objects than it was given`);
        return [{ index, object, decision: underPolicies(decision), said: hint?.said }];
      });
    },
    decider: {
      async decideAgain(fresh, index) {
        // These objects are decided together or not at all: the batch is retried.
        if (controller.scope === "batch") return retry(toReference(controller.resource, fresh), CHANGED, 1);
        conflicts.set(index, { hasWritten: written.has(index) });
        const subject = await observedAgain(fresh, subjects.get(index), index);
        subjects.set(index, subject);
        return decideOne(subject, index);
      },
      applySharedResult(index, done) {
        if (controller.applySharedResult === undefined) return;
        const foldOther = controller.applySharedResult.bind(controller);
        const context = buildAskContext(invocation);
        for (const [other, subject] of subjects)
          if (other !== index)
            subjects.set(
              other,
              done.reduce((folded, each) => foldOther(folded, each, context), subject),
            );
      },
      decideNext(index, done) {
        const subject = subjects.get(index);
        if (controller.applyResult === undefined || subject === undefined) return undefined;
        const fold = controller.applyResult.bind(controller);
        const folded = done.reduce<Subject>(fold, subject);
        subjects.set(index, folded);
        return decideOne(folded, index);
      },
      decideRejected(index, refusal, done) {
        const subject = subjects.get(index);
        if (subject === undefined) return undefined;
        const fold = controller.applyResult?.bind(controller);
        const folded = fold === undefined ? subject : done.reduce<Subject>(fold, subject);
        subjects.set(index, controller.applyRejection?.(folded, refusal) ?? folded);
        const decision = controller.decideRejected?.(folded, refusal, decisionContextFor(index));
        return decision === undefined ? undefined : underPolicies(decision);
      },
    },
    async act(action, signal) {
      const cloud = await dependencies.cloud(cluster);
      const capability = cloud.capabilities?.[action.capability];
      if (capability === undefined) {
        return {
          kind: "error",
          code: "Invalid",
          message: `the cloud "${cloud.provider}" has no ${action.capability}`,
        };
      }
      const { uid } = action.precondition;
      const [index, subject] = [...subjects].find(([, { object }]) => object.metadata.uid === uid) ?? [];
      if (index !== undefined) written.add(index);
      const result = await capability.act(action, { signal, share: getQuotaShare(invocation) });
      usage = addUsage(usage, result.usage);
      logAction(invocation, subject?.object, action, result);
      return result.answer;
    },
    objects: () => [...subjects].map(([index, { object }]) => ({ kind: "object", index, object })),
    subjects: () => [...subjects.values()],
    replace(index, object) {
      const before = subjects.get(index);
      if (object === undefined || before === undefined) subjects.delete(index);
      else if (isSameQuestion(invocation, before.object, object)) subjects.set(index, { ...before, object });
      // The cloud's answer was about another instance, or this object no longer needs one.
      else subjects.set(index, { ...before, object, answer: undefined });
    },
    listOrphans(index) {
      const subject = subjects.get(index);
      return subject && controller.listOrphans?.(subject, buildAskContext(invocation));
    },
    listCandidates(index) {
      const subject = subjects.get(index);
      return subject && controller.listCandidates?.(subject, buildAskContext(invocation));
    },
    grant(granted, took) {
      places = granted;
      usage = addUsage(usage, took);
    },
    cloudUsage: () => usage,
  };
}

const CHANGED = { code: "Conflict", message: "the object is not as it was read with its batch" } as const;

/**
 * Writes a log line for each action sent to the cloud, whatever its result: an unanswered one may have been
 * carried out. A held-back action has no line.
 */
export function logAction(
  { dependencies, event }: Invocation,
  object: ApiObject | undefined,
  { action, target, precondition: { uid } }: CloudAction,
  { answer, usage, requestId }: ActionResult,
): void {
  // An action combined with others is counted at the first of them.
  if (answer.kind !== "done" && Object.keys(usage.calls).length === 0) return;
  const { namespace, name } = object?.metadata ?? {};
  const failure =
    answer.kind === "done"
      ? {}
      : { code: answer.kind === "conflict" ? "Conflict" : answer.code, message: answer.message };
  dependencies.log?.({
    level: answer.kind === "done" ? "info" : "warn",
    event: "CloudAction",
    cluster: event.cluster,
    controller: event.controller,
    eventId: event.id,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    uid,
    action,
    target,
    ...(requestId === undefined ? {} : { cloudRequestId: requestId }),
    ...failure,
  });
}
