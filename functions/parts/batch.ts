import type { ActionAnswer } from "#core/capability.ts";
import type {
  ApiObject,
  AskContext,
  Conflict,
  ListedObjects,
  ObjectCount,
  ReadState,
  Subject,
} from "#core/controller.ts";
import type { CloudAction, Decision, Plan } from "#core/decision.ts";
import { referenceTo, retry } from "#core/decisions.ts";
import type { FleetStanding } from "#core/node-lifecycle/fleet-brake.ts";
import { applyPolicies } from "#core/policies.ts";
import type { CloudUsage, ObjectReport } from "#core/report.ts";
import type { Places } from "#core/service/places.ts";
import { underStop } from "#core/stop.ts";
import { addUsage } from "#core/usage.ts";
import { type Answers, askCloud, isSameQuestion } from "#functions/parts/ask-cloud.ts";
import { askContextOf, type Invocation, shareOf } from "#functions/parts/invocation.ts";
import { logAction } from "#functions/parts/log-action.ts";
import type { ObjectEntry } from "#functions/parts/parse-objects.ts";
import type { ApplyItem, Decider } from "#kube/apply/context.ts";

/** What a batch is decided under, as it was read. */
export interface ReadUnder {
  readonly state: ReadState;
  readonly count: ObjectCount | undefined;
  readonly listed?: ListedObjects | undefined;
  readonly fleet?: FleetStanding | undefined;
}

/** What is known of the objects of one event by now, and how to decide on them. */
export interface Batch {
  /** One plan for all that are still open. */
  plan(under: ReadUnder | undefined): Plan;
  /** A plan's decisions with the objects that they are on, under the cluster's policies. */
  itemsOf(decisions: readonly Decision[]): ApplyItem[];
  /** Decides on one object of them, after a change or after it was read again. */
  readonly decider: Decider;
  /** Carries out one action of the cloud within the event's share of its quotas. */
  act(action: CloudAction, signal: AbortSignal): Promise<ActionAnswer>;
  objects(): readonly ObjectEntry[];
  /** The same with what is known of them. */
  subjects(): readonly Subject[];
  /** The object as it was read again; undefined where it is gone, or another one by now. */
  replace(index: number, object: ApiObject | undefined): void;
  /** What of the cloud was found on one object's account that nothing has a use for; undefined where nobody looked, or nobody knows. */
  orphansOf(index: number): ObjectReport["orphans"];
  /** What is deleted on one object's account once a later look finds it unused, too. */
  listCandidates(index: number): ObjectReport["candidates"];
  /** Says which places were granted, and what it took to count them; until then none are. */
  grant(places: Places, took: CloudUsage): void;
  /** What the cloud took so far. */
  cloudUsage(): CloudUsage;
}

/** Makes a batch of objects and of what the cloud said of them. */
export function createBatch(
  invocation: Invocation,
  entries: readonly ObjectEntry[],
  answers: Answers,
): Batch {
  const { dependencies, cluster, controller, event } = invocation;
  const subjects = new Map(entries.map(({ index, object }) => [index, subjectOf(object, answers)]));
  let usage = answers.usage;
  // What a decision needs to have read beside its objects was read by then.
  let lastRead: ReadUnder | undefined;
  let places: Places = { kind: "counted", granted: new Set(), full: new Map() };

  function subjectOf(object: ApiObject, { byObject }: Answers): Subject {
    return { object, answer: byObject.get(object), hint: event.hints?.[object.metadata.uid] };
  }

  /** Objects for whose sake the cloud was asked for a change, and those that were found changed by others. */
  const written = new Set<number>();
  const conflicts = new Map<number, Conflict>();
  const contextFor = (index: number | undefined): AskContext => {
    const conflict = index === undefined ? undefined : conflicts.get(index);
    return conflict === undefined ? askContextOf(invocation) : { ...askContextOf(invocation), conflict };
  };

  const decide = (batch: readonly Subject[], index?: number): Plan =>
    controller.decide(batch, {
      ...contextFor(index),
      state: lastRead?.state,
      count: lastRead?.count,
      listed: lastRead?.listed,
      fleet: lastRead?.fleet,
      clock: invocation.clock,
      places,
    });

  const underPolicies = (decision: Decision): Decision =>
    underStop(
      applyPolicies(decision, { dryRun: false, labelsOnly: cluster.policies.labelsOnly }),
      invocation.stop,
    );

  function decideOne(subject: Subject, index: number): Decision {
    const plan = decide([subject], index);
    const [decision] = plan.kind === "each" ? plan.decisions : [];
    if (decision !== undefined) return underPolicies(decision);
    throw new Error(`${controller.name} decided nothing on ${subject.object.metadata.name}`);
  }

  /** What the cloud said holds for the question that it was asked; another one is asked anew, and so is what changes by our doing. */
  async function observedAgain(
    fresh: ApiObject,
    known: Subject | undefined,
    index: number,
  ): Promise<Subject> {
    const isSame = known !== undefined && isSameQuestion(invocation, known.object, fresh);
    if (isSame && controller.fold === undefined) return { ...known, object: fresh };
    const asked = await askCloud(invocation, [fresh], contextFor(index));
    usage = addUsage(usage, asked.usage);
    return subjectOf(fresh, asked);
  }

  return {
    plan(under) {
      lastRead = under;
      return decide([...subjects.values()]);
    },
    itemsOf(decisions) {
      return [...subjects].flatMap(([index, { object, hint }], place) => {
        const decision = decisions[place];
        if (decision === undefined)
          throw new Error(`${controller.name} decided on fewer objects than it was given`);
        return [{ index, object, decision: underPolicies(decision), said: hint?.said }];
      });
    },
    decider: {
      async again(fresh, index) {
        // Decided together or not at all: the batch comes again.
        if (controller.scope === "batch") return retry(referenceTo(controller.resource, fresh), CHANGED, 1);
        conflicts.set(index, { hasWritten: written.has(index) });
        const subject = await observedAgain(fresh, subjects.get(index), index);
        subjects.set(index, subject);
        return decideOne(subject, index);
      },
      told(index, done) {
        if (controller.foldOther === undefined) return;
        const foldOther = controller.foldOther.bind(controller);
        const context = askContextOf(invocation);
        for (const [other, subject] of subjects)
          if (other !== index)
            subjects.set(
              other,
              done.reduce((folded, each) => foldOther(folded, each, context), subject),
            );
      },
      next(index, done) {
        const subject = subjects.get(index);
        if (controller.fold === undefined || subject === undefined) return undefined;
        const fold = controller.fold.bind(controller);
        const folded = done.reduce<Subject>(fold, subject);
        subjects.set(index, folded);
        return decideOne(folded, index);
      },
      refused(index, refusal, done) {
        const subject = subjects.get(index);
        if (subject === undefined) return undefined;
        const fold = controller.fold?.bind(controller);
        const folded = fold === undefined ? subject : done.reduce<Subject>(fold, subject);
        subjects.set(index, folded);
        const decision = controller.refused?.(folded, refusal, contextFor(index));
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
      const result = await capability.act(action, { signal, share: shareOf(invocation) });
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
      // What the cloud said was said of another instance, or is not asked of this object any more.
      else subjects.set(index, { ...before, object, answer: undefined });
    },
    orphansOf(index) {
      const subject = subjects.get(index);
      return subject && controller.orphansOf?.(subject, askContextOf(invocation));
    },
    listCandidates(index) {
      const subject = subjects.get(index);
      return subject && controller.listCandidates?.(subject, askContextOf(invocation));
    },
    grant(granted, took) {
      places = granted;
      usage = addUsage(usage, took);
    },
    cloudUsage: () => usage,
  };
}

const CHANGED = { code: "Conflict", message: "the object is not as it was read with its batch" } as const;
