import type { ClusterObject } from "#core/cluster-object.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { Because, Change, CloudAction, Decision } from "#core/decision.ts";
import { change, referenceTo, retry, skip, unchanged } from "#core/decisions.ts";
import { test } from "#core/json-patch.ts";
import { NAMESPACES, SERVICES } from "#core/resources/resource.ts";
import type { Holding } from "#core/service/holdings.ts";
import {
  LOAD_BALANCERS,
  type LoadBalancerAction,
  type LoadBalancerModel,
  type RemovedOrphans,
} from "#core/service/model.ts";
import { auditOf, type KnownAudit, keyOfAction, type OrphanAnswer } from "#core/service/orphans/audit.ts";
import { areAllKnown, INCOMPLETE, INCOMPLETE_SECONDS } from "#core/service/orphans/complete.ts";
import { decideDrops } from "#core/service/orphans/drop.ts";
import { planMarks } from "#core/service/orphans/plan-marks.ts";
import { sentenceOf } from "#core/service/trouble.ts";

/**
 * Decides on load balancers whose Service has gone. They are told, and no more, unless the operator has them deleted. Then one audit marks
 * them, and a later one deletes the one whose turn it is: each time with a positive control, and with all Services known.
 */
export function decideOrphans(
  object: ClusterObject,
  answer: OrphanAnswer | undefined,
  model: LoadBalancerModel | undefined,
  context: DecisionContext,
): Decision {
  const reference = referenceTo(NAMESPACES, object);
  if (model?.orphans === undefined) return unchanged(reference, NOT_SUPPORTED);
  const audit = auditOf(answer, model, context);
  if (audit.kind === "unknown") return retry(reference, audit.because, audit.afterSeconds);
  if ("drop" in model.orphans) return decideDrops(object, audit, model.orphans, context);
  const tidying = tidyShared(object, audit, model.orphans, context);
  if (tidying !== undefined) return tidying;
  if (!context.settings.loadBalancers.deleteOrphaned)
    return audit.failure === undefined ? unchanged(reference) : skip(reference, audit.failure);
  const doubt = audit.found.gone.length === 0 ? undefined : doubtOf(audit, context);
  const marks = planMarks(audit.found, model.orphans, { now: context.now, isProven: doubt === undefined });
  const open = marks.filter((action) => !audit.tried.has(keyOfAction(action)));
  const marking = change(
    reference,
    open.map((each) => actionOf(object, each)),
    {
      because: { code: "MarkingOrphans", message: `${open.length} marks of orphaned load balancers` },
      independent: true,
    },
  );
  if (marking !== undefined) return marking;
  if (doubt === INCOMPLETE) return retry(reference, doubt, INCOMPLETE_SECONDS);
  if (doubt !== undefined) return skip(reference, doubt);
  const { removable } = audit;
  // What could not be marked is not kept from going, and what goes is no reason to keep quiet about that.
  const otherwise = audit.failure === undefined ? unchanged(reference) : skip(reference, audit.failure);
  if (removable === undefined) return otherwise;
  const step = model.orphans.next(removable.holding, removable.state, context.settings);
  switch (step.kind) {
    case "act": {
      const { kind, id, service } = removable.holding;
      const message = `${kind} ${id} of Service ${service}, which is gone: ${step.because.message}`;
      const because = { code: "DeletingOrphan", message };
      const [first, ...more] = step.actions;
      const action = (each: LoadBalancerAction): CloudAction => actionOf(object, each, removable.holding);
      const writes: Change["writes"] = [action(first), ...more.map(action)];
      return { kind: "change", object: reference, because, writes, events: [], warnings: [] };
    }
    case "wait":
      return retry(reference, step.because, Math.max(step.afterSeconds, LEFT_SECONDS));
    case "refused":
      return skip(reference, {
        code: step.problem.code,
        message: `${removable.holding.kind} ${removable.holding.id}: ${sentenceOf(step.problem)}`,
      });
    default:
      return otherwise;
  }
}

/** What several load balancers share and none uses is nobody's orphan: it goes whether or not the operator has orphans deleted. */
function tidyShared(
  object: ClusterObject,
  { shared, tried }: KnownAudit,
  orphans: RemovedOrphans,
  { now, settings }: DecisionContext,
): Decision | undefined {
  const actions = shared === undefined ? [] : (orphans.tidyShared?.(shared, now, settings) ?? []);
  const open = actions.filter((action) => !tried.has(keyOfAction(action)));
  const message = `${open.length} changes of what several load balancers share, or have shared`;
  return change(
    referenceTo(NAMESPACES, object),
    open.map((each) => actionOf(object, each)),
    { because: { code: "TidyingShared", message }, independent: true },
  );
}

/** Seconds after which what the cloud still holds on to is tried again. */
export const LEFT_SECONDS = 60;

/** Why nothing may be taken for an orphan that was found; undefined where it is proven. */
function doubtOf({ found }: KnownAudit, context: DecisionContext): Because | undefined {
  if (!areAllKnown(context)) return INCOMPLETE;
  return found.control === undefined ? UNPROVEN : undefined;
}

/** One about a holding is carried out only while there is no Service of its name that has or may have a load balancer. */
function actionOf(
  { metadata: { uid } }: ClusterObject,
  { action, target, parameters }: LoadBalancerAction,
  holding?: Holding,
): CloudAction {
  const absent = holding?.service === undefined ? {} : { absent: serviceNamed(holding.service) };
  const precondition = { uid, deleting: false, ...absent };
  return { on: "cloud", capability: LOAD_BALANCERS, action, target, parameters, precondition };
}

function serviceNamed(service: string): NonNullable<CloudAction["precondition"]["absent"]> {
  const [namespace = "", name = ""] = service.split("/");
  const having = [test("/spec/type", "LoadBalancer")];
  return { apiVersion: SERVICES.apiVersion, resource: SERVICES.name, namespace, name, having };
}

const NOT_SUPPORTED: Because = {
  code: "NotSupported",
  message: "the cloud has no load balancers whose Service could be told",
};

const UNPROVEN: Because = {
  code: "DeletionUnproven",
  message:
    "no load balancer of a Service that lives was found beside: nothing shows that cloud and Services are of the same cluster, and nothing is deleted",
};
