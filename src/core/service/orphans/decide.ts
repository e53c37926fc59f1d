import type { ClusterObject } from "#core/cluster-object.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { Change, CloudAction, Decision } from "#core/decision.ts";
import { change, leaveUnchanged, retry, skip, toReference } from "#core/decisions.ts";
import { test } from "#core/json-patch.ts";
import type { Reason } from "#core/reason.ts";
import { NAMESPACES, SERVICES } from "#core/resources/resource.ts";
import type { Holding } from "#core/service/holdings.ts";
import { describeIssue } from "#core/service/issue-decisions.ts";
import {
  LOAD_BALANCERS,
  type LoadBalancerAction,
  type LoadBalancerModel,
  type OrphanModel,
  type RemovedOrphans,
} from "#core/service/model.ts";
import {
  buildAudit,
  type FoundOrphans,
  formatActionKey,
  type KnownAudit,
  type OrphanAnswer,
} from "#core/service/orphans/audit.ts";
import { decideDrops } from "#core/service/orphans/drop.ts";
import {
  findServiceListGap,
  INCOMPLETE_SECONDS,
  SERVICES_INCOMPLETE,
} from "#core/service/orphans/existing-services.ts";
import {
  formatOrphanMark,
  isPending,
  NOTICE_MS,
  type OrphanMark,
  parseOrphanMark,
  TURN_MS,
} from "#core/service/orphans/mark.ts";

/**
 * Decides on load balancers whose Service no longer exists. By default nothing is done: the audit's report names them.
 * If the operator enables deletion, one audit marks them, and later ones delete them, one at a time. Both need the
 * complete list of Services. They also need a load balancer of an existing Service in the same answer of the cloud: it
 * proves that the credentials and the cluster belong together.
 */
export function decideOrphans(
  object: ClusterObject,
  answer: OrphanAnswer | undefined,
  model: LoadBalancerModel | undefined,
  context: DecisionContext,
): Decision {
  // The namespace kube-system stands for the cluster.
  const reference = toReference(NAMESPACES, object);
  if (model?.orphans === undefined) return leaveUnchanged(reference, NOT_SUPPORTED);
  const audit = buildAudit(answer, model, context);
  if (audit.kind === "unknown") return retry(reference, audit.because, audit.afterSeconds);
  // Where load balancers are entries of a ConfigMap, orphans are entries.
  if ("drop" in model.orphans) return decideDrops(object, audit, model.orphans, context);
  const tidying = tidyShared(object, audit, model.orphans, context);
  if (tidying !== undefined) return tidying;
  if (!context.settings.loadBalancers.deleteOrphaned)
    return audit.failure === undefined ? leaveUnchanged(reference) : skip(reference, audit.failure);
  const uncertainty = audit.orphans.gone.length === 0 ? undefined : checkProof(audit, context);
  const marks = planMarks(audit.orphans, model.orphans, {
    now: context.now,
    isProven: uncertainty === undefined,
  });
  const open = marks.filter((action) => !audit.tried.has(formatActionKey(action)));
  const marking = change(
    reference,
    open.map((each) => buildAction(object, each)),
    {
      because: { code: "MarkingOrphans", message: `${open.length} marks of orphaned load balancers` },
      independent: true,
    },
  );
  if (marking !== undefined) return marking;
  if (uncertainty?.code === SERVICES_INCOMPLETE) return retry(reference, uncertainty, INCOMPLETE_SECONDS);
  if (uncertainty !== undefined) return skip(reference, uncertainty);
  const { removable } = audit;
  // A failed mark does not stop a removal, and a removal does not hide the failure.
  const otherwise = audit.failure === undefined ? leaveUnchanged(reference) : skip(reference, audit.failure);
  if (removable === undefined) return otherwise;
  const step = model.orphans.planStep(removable.holding, removable.state, context.settings);
  switch (step.kind) {
    case "act": {
      const { kind, id, service } = removable.holding;
      const message = `${kind} ${id} of Service ${service}, which is gone: ${step.because.message}`;
      const because = { code: "DeletingOrphan", message };
      const [first, ...more] = step.actions;
      const action = (each: LoadBalancerAction): CloudAction => buildAction(object, each, removable.holding);
      const writes: Change["writes"] = [action(first), ...more.map(action)];
      return { kind: "change", object: reference, because, writes, events: [], warnings: [] };
    }
    case "wait":
      return retry(reference, step.because, Math.max(step.afterSeconds, LEFT_SECONDS));
    case "refused":
      return skip(reference, {
        code: step.issue.code,
        message: `${removable.holding.kind} ${removable.holding.id}: ${describeIssue(step.issue)}`,
      });
    default:
      return otherwise;
  }
}

/**
 * Removes shared resources without users. They are not orphans of a Service, so this does not depend on
 * `deleteOrphaned`.
 */
function tidyShared(
  object: ClusterObject,
  { shared, tried }: KnownAudit,
  orphans: RemovedOrphans,
  { now, settings }: DecisionContext,
): Decision | undefined {
  const actions = shared === undefined ? [] : (orphans.tidyShared?.(shared, now, settings) ?? []);
  const open = actions.filter((action) => !tried.has(formatActionKey(action)));
  const message = `${open.length} changes of shared resources`;
  return change(
    toReference(NAMESPACES, object),
    open.map((each) => buildAction(object, each)),
    { because: { code: "TidyingShared", message }, independent: true },
  );
}

/** The least number of seconds until a deletion is retried of which the cloud still holds something. */
export const LEFT_SECONDS = 60;

/** Why the orphans found are not proven; undefined when they are. */
function checkProof({ orphans }: KnownAudit, context: DecisionContext): Reason | undefined {
  return findServiceListGap(context) ?? (orphans.control === undefined ? UNPROVEN : undefined);
}

/** A deletion of a holding runs only while no Service of its name is of type LoadBalancer. */
function buildAction(
  { metadata: { uid } }: ClusterObject,
  { action, target, parameters }: LoadBalancerAction,
  holding?: Holding,
): CloudAction {
  const absent = holding?.service === undefined ? {} : { absent: buildAbsentService(holding.service) };
  const precondition = { uid, deleting: false, ...absent };
  return { on: "cloud", capability: LOAD_BALANCERS, action, target, parameters, precondition };
}

function buildAbsentService(service: string): NonNullable<CloudAction["precondition"]["absent"]> {
  const [namespace = "", name = ""] = service.split("/");
  const having = [test("/spec/type", "LoadBalancer")];
  return { apiVersion: SERVICES.apiVersion, resource: SERVICES.name, namespace, name, having };
}

const NOT_SUPPORTED: Reason = {
  code: "NotSupported",
  message: "this cloud does not tell which Service a load balancer belongs to",
};

const UNPROVEN: Reason = {
  code: "DeletionUnproven",
  message: "the cloud shows no load balancer of an existing Service: nothing is deleted",
};

/** The maximum number of turns assigned ahead; later orphans wait without a mark. */
export const MAX_TURNS = 20;

/** The maximum number of marks that one audit removes. */
const MAX_UNMARKED = 50;

/**
 * Returns the marks to write and to remove. Marks on holdings whose Service lives, or whose name another Service has,
 * are removed at any time;
 * orphans are marked only with proof. An orphan that missed its turn gets another one behind all others. So orphans
 * that can never be deleted keep no turn from a new one.
 */
function planMarks(
  { retained, replaced, gone }: FoundOrphans,
  model: OrphanModel,
  { now, isProven }: { readonly now: Date; readonly isProven: boolean },
): readonly LoadBalancerAction[] {
  const nowMs = now.getTime();
  const unmark = [...retained, ...replaced]
    .filter(({ mark }) => mark !== undefined)
    .slice(0, MAX_UNMARKED)
    .map((holding) => model.unmark(holding));
  if (!isProven) return unmark;
  const marked = gone.map((holding) => ({ holding, mark: parseOrphanMark(holding.mark) }));
  const pending = marked.flatMap(({ mark }) => (mark !== undefined && isPending(mark, nowMs) ? [mark] : []));
  const waiting = marked.filter(({ mark }) => mark === undefined || !isPending(mark, nowMs));
  let fromMs = Math.max(nowMs + NOTICE_MS, ...pending.map((mark) => mark.fromMs + TURN_MS));
  const mark = waiting.toSorted(compareMarked).map(({ holding, mark: before }) => {
    const text = formatOrphanMark({ sinceMs: before?.sinceMs ?? nowMs, fromMs });
    fromMs += TURN_MS;
    return model.mark(holding, text);
  });
  return [...unmark, ...mark.slice(0, Math.max(0, MAX_TURNS - pending.length))];
}

interface MarkedHolding {
  readonly holding: Holding;
  readonly mark: OrphanMark | undefined;
}

/** First those without a mark, then by the missed turn; load balancers before parts. */
function compareMarked(one: MarkedHolding, other: MarkedHolding): number {
  const getMissedMs = ({ mark }: MarkedHolding): number => mark?.fromMs ?? 0;
  const getRank = ({ holding }: MarkedHolding): number => (holding.isPart === true ? 1 : 0);
  return (
    getMissedMs(one) - getMissedMs(other) ||
    getRank(one) - getRank(other) ||
    (one.holding.id < other.holding.id ? -1 : 1)
  );
}
