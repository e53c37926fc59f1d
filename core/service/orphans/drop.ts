import type { ClusterObject } from "#core/cluster-object.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { Because, CloudAction, Decision } from "#core/decision.ts";
import { change, referenceTo, retry, skip, unchanged } from "#core/decisions.ts";
import { test } from "#core/json-patch.ts";
import { NAMESPACES, SERVICES } from "#core/resources/resource.ts";
import type { Holding } from "#core/service/holdings.ts";
import { type DroppedOrphans, LOAD_BALANCERS, type LoadBalancerAction } from "#core/service/model.ts";
import { type KnownAudit, keyOfAction } from "#core/service/orphans/audit.ts";
import { areAllKnown, INCOMPLETE, INCOMPLETE_SECONDS } from "#core/service/orphans/complete.ts";
import { markOfText, writtenMark } from "#core/service/orphans/mark.ts";

/**
 * Decides on lines of the cluster's own books whose uid is no Service of type LoadBalancer any more: one audit marks them, another one that
 * finds them a minute later or more drops them. Both know all Services.
 */
export function decideDrops(
  object: ClusterObject,
  { found, tried, failure }: KnownAudit,
  model: DroppedOrphans,
  context: DecisionContext,
): Decision {
  const reference = referenceTo(NAMESPACES, object);
  const stale = [...found.gone, ...found.replaced];
  const areKnown = areAllKnown(context);
  const actions = [
    ...found.held
      .filter(({ mark }) => mark !== undefined)
      .map((holding) => actionOf(object, model.unmark(holding))),
    ...(areKnown ? stale.flatMap((holding) => nextOf(object, holding, model, context.now.getTime())) : []),
  ];
  // What an audit could not do the next one does.
  const writes = tried.size === 0 ? actions.slice(0, MAX_ACTIONS) : [];
  const message = `${writes.length} marks and lines, where ${stale.length} lines are without a Service`;
  const because = { code: "DroppingOrphans", message };
  const next = change(reference, writes, { because, independent: true });
  if (next !== undefined) return next;
  if (failure !== undefined) return skip(reference, failure);
  const areDropped = stale.every((holding) => tried.has(keyOfAction(model.drop(holding))));
  if (areDropped) return unchanged(reference);
  return areKnown
    ? retry(reference, MARKED, AGAIN_SECONDS)
    : retry(reference, INCOMPLETE, INCOMPLETE_SECONDS);
}

/** Marked, or dropped, or nothing before its time. */
function nextOf(
  object: ClusterObject,
  holding: Holding,
  model: DroppedOrphans,
  nowMs: number,
): readonly CloudAction[] {
  const fromMs = markOfText(holding.mark)?.fromMs;
  // Nobody marks further ahead: such a mark is somebody else's, or of a clock that was wrong.
  if (fromMs === undefined || fromMs > nowMs + APART_MS) {
    const text = writtenMark({ sinceMs: nowMs, fromMs: nowMs + APART_MS });
    return [actionOf(object, model.mark(holding, text))];
  }
  return fromMs > nowMs ? [] : [actionOf(object, model.drop(holding), serviceOf(holding))];
}

/** Milliseconds between the audit that marks a line and the first one that may drop it. */
const APART_MS = 60_000;

/** Actions of one audit; the next one goes on. */
const MAX_ACTIONS = 100;

/** A little more than marks have to be apart. */
const AGAIN_SECONDS = 65;

const MARKED: Because = {
  code: "OrphansMarked",
  message: "lines without a Service are dropped by an audit that finds them so once more",
};

function actionOf(
  { metadata: { uid } }: ClusterObject,
  { action, target, parameters }: LoadBalancerAction,
  absent?: CloudAction["precondition"]["absent"],
): CloudAction {
  const precondition = { uid, deleting: false, ...(absent === undefined ? {} : { absent }) };
  return { on: "cloud", capability: LOAD_BALANCERS, action, target, parameters, precondition };
}

/** What must not be there for a line to go: a Service of type LoadBalancer with the uid that stands in it. */
function serviceOf({ id, service = "" }: Holding): NonNullable<CloudAction["precondition"]["absent"]> {
  const [namespace = "", name = ""] = service.split("/");
  const having = [test("/metadata/uid", id), test("/spec/type", LOAD_BALANCER)];
  return { apiVersion: SERVICES.apiVersion, resource: SERVICES.name, namespace, name, having };
}

const LOAD_BALANCER = "LoadBalancer";
