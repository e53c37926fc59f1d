import type { ClusterObject } from "#core/cluster-object.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { CloudAction, Decision } from "#core/decision.ts";
import { change, leaveUnchanged, retry, skip, toReference } from "#core/decisions.ts";
import { test } from "#core/json-patch.ts";
import type { Reason } from "#core/reason.ts";
import { NAMESPACES, SERVICES } from "#core/resources/resource.ts";
import type { Holding } from "#core/service/holdings.ts";
import { type DroppedOrphans, LOAD_BALANCERS, type LoadBalancerAction } from "#core/service/model.ts";
import { formatActionKey, type KnownAudit } from "#core/service/orphans/audit.ts";
import { findServiceListGap, INCOMPLETE_SECONDS } from "#core/service/orphans/existing-services.ts";
import { formatOrphanMark, parseOrphanMark } from "#core/service/orphans/mark.ts";

/**
 * Decides which entries of the cluster's own records are marked, unmarked or dropped. An entry is stale if no
 * Service of type LoadBalancer has its uid. One audit marks it; a later audit, after at least a minute, drops
 * it. Both need the complete list of Services.
 */
export function decideDrops(
  object: ClusterObject,
  { orphans, tried, failure }: KnownAudit,
  model: DroppedOrphans,
  context: DecisionContext,
): Decision {
  const reference = toReference(NAMESPACES, object);
  const staleEntries = [...orphans.gone, ...orphans.replaced];
  const gap = findServiceListGap(context);
  const actions = [
    ...orphans.retained
      .filter(({ mark }) => mark !== undefined)
      .map((entry) => buildAction(object, model.unmark(entry))),
    ...(gap === undefined
      ? staleEntries.flatMap((entry) => planNextActions(object, entry, model, context.now.getTime()))
      : []),
  ];
  // An audit sends its actions once; the next audit continues.
  const writes = tried.size === 0 ? actions.slice(0, MAX_ACTIONS) : [];
  const message = `${writes.length} marks and lines, where ${staleEntries.length} lines are without a Service`;
  const because = { code: "DroppingOrphans", message };
  const next = change(reference, writes, { because, independent: true });
  if (next !== undefined) return next;
  if (failure !== undefined) return skip(reference, failure);
  const wereAllTried = staleEntries.every((entry) => tried.has(formatActionKey(model.drop(entry))));
  if (wereAllTried) return leaveUnchanged(reference);
  return gap === undefined
    ? retry(reference, MARKED, RETRY_SECONDS)
    : retry(reference, gap, INCOMPLETE_SECONDS);
}

/** Returns the mark or the drop of a stale entry; nothing while it waits for the drop. */
function planNextActions(
  object: ClusterObject,
  entry: Holding,
  model: DroppedOrphans,
  nowMs: number,
): readonly CloudAction[] {
  const droppableFromMs = parseOrphanMark(entry.mark)?.fromMs;
  // No audit writes a time further ahead: such a mark is foreign or comes from a wrong clock. Replace it.
  if (droppableFromMs === undefined || droppableFromMs > nowMs + MARK_TO_DROP_MS) {
    const text = formatOrphanMark({ sinceMs: nowMs, fromMs: nowMs + MARK_TO_DROP_MS });
    return [buildAction(object, model.mark(entry, text))];
  }
  return droppableFromMs > nowMs ? [] : [buildAction(object, model.drop(entry), buildAbsentService(entry))];
}

/** Minimum milliseconds between the audit that marks an entry and the audit that drops it. */
const MARK_TO_DROP_MS = 60_000;

/** Maximum number of actions in one audit; the next audit continues. */
const MAX_ACTIONS = 100;

/** Seconds until the next audit: a little more than `MARK_TO_DROP_MS`, so that marked entries are due then. */
const RETRY_SECONDS = 65;

const MARKED: Reason = {
  code: "OrphansMarked",
  message: "the next audit drops lines that still have no Service",
};

function buildAction(
  { metadata: { uid } }: ClusterObject,
  { action, target, parameters }: LoadBalancerAction,
  absent?: CloudAction["precondition"]["absent"],
): CloudAction {
  const precondition = { uid, deleting: false, ...(absent === undefined ? {} : { absent }) };
  return { on: "cloud", capability: LOAD_BALANCERS, action, target, parameters, precondition };
}

/** Returns the object that must not exist when an entry is dropped: a LoadBalancer Service with its uid. */
function buildAbsentService({
  id,
  service = "",
}: Holding): NonNullable<CloudAction["precondition"]["absent"]> {
  const [namespace = "", name = ""] = service.split("/");
  const having = [test("/metadata/uid", id), test("/spec/type", LOAD_BALANCER)];
  return { apiVersion: SERVICES.apiVersion, resource: SERVICES.name, namespace, name, having };
}

const LOAD_BALANCER = "LoadBalancer";
